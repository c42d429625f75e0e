import { readdir, readFile, readlink } from 'node:fs/promises';

const LISTENING = '0A';

/** Where a process of this (Linux) machine listens, as `127.0.0.1:8083`; IPv6 addresses as the kernel writes them. */
export async function listeningAddresses(pid: number): Promise<string[]> {
  const links = (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''));
  const sockets = new Set((await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(['tcp', 'tcp6'].map((table) => readFile(`/proc/${pid}/net/${table}`, 'utf8')));
  return tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === LISTENING && sockets.has(fields[9] ?? ''))
      .map((fields) => readable(fields[1] ?? '')),
  );
}

function readable(entry: string): string {
  const [address = '', port = ''] = entry.split(':');
  const bytes = address.length === 8 ? [...Buffer.from(address, 'hex')].reverse().join('.') : address;
  return `${bytes}:${Number.parseInt(port, 16)}`;
}
