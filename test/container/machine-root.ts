import { chmod, copyFile, cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findProgram, run } from './run.ts';

/** What scripts of images use; all are part of every Linux. */
const PROGRAMS = (
  'bash sh env find cat cp mv rm ln ls mkdir chmod chown id uname dirname basename readlink sleep date hostname ' +
  'grep sed tr cut head tail od sort'
).split(' ');
const LINKED = { bin: 'usr/bin', sbin: 'usr/bin', lib: 'usr/lib', lib64: 'usr/lib64' };
/** glibc loads these by name when it looks up a host; newer ones have them within. */
const LOADED_BY_NAME = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2'];
const EVERYBODY = 0o1777;

const PASSWD = `root:x:0:0:root:/root:/bin/bash
appuser:x:1000:1000::/tmp:/bin/bash
nobody:x:65534:65534::/tmp:/bin/bash
`;

/**
 * wget as the health checks of images call it: `wget -q -O /dev/null <url>`, with what bash brings.
 */
const WGET = `#!/bin/bash
url="\${!#}"; rest="\${url#http://}"; at="\${rest%%/*}"
exec 3<>"/dev/tcp/\${at%:*}/\${at#*:}" || exit 4
printf 'GET /%s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' "\${rest#*/}" "$at" >&3
read -r -t 5 status <&3
[[ $status == *' 200 '* ]]
`;

/**
 * Makes a folder that serves as / of a container: a shell and its usual programs with their libraries, copied from this
 * machine. Neither a package mirror nor root is needed, as for a whole Debian it would be.
 */
export async function createMachineRoot(root: string): Promise<void> {
  const ofPrograms = ['usr/bin', 'usr/lib', 'usr/lib64', 'usr/local/bin'];
  for (const folder of ['etc/ssl/certs', 'root', 'proc', 'sys', 'dev', ...ofPrograms]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  for (const [name, target] of Object.entries(LINKED)) await symlink(target, join(root, name));
  await makeWritable(root, 'tmp');
  const programs: string[] = [];
  for (const name of PROGRAMS) {
    const program = await findProgram(name);
    if (program === undefined) throw new Error(`There is no ${name} on this machine.`);
    await putProgram(program, join(root, 'usr/bin', name));
    programs.push(program);
  }
  await addLibraries(root, programs);
  await writeFile(join(root, 'usr/bin/wget'), WGET, { mode: 0o755 });
  await writeFile(join(root, 'etc/passwd'), PASSWD);
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nappuser:x:1000:\nnogroup:x:65534:\n');
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
}

/** A folder into which every user may write: which of them the container runs as is reported only when it starts. */
export async function makeWritable(root: string, folder: string): Promise<void> {
  await mkdir(join(root, folder), { recursive: true });
  await chmod(join(root, folder), EVERYBODY);
}

export async function putProgram(program: string, at: string): Promise<void> {
  await mkdir(dirname(at), { recursive: true });
  await copyFile(program, at);
  await chmod(at, 0o755);
}

/** Copies a folder with what its links point to, which is not in the image; the folder may be looked into by all. */
export async function putFolder(folder: string, at: string, leaveOut: RegExp = /(?!)/): Promise<void> {
  await mkdir(dirname(at), { recursive: true });
  await cp(folder, at, {
    recursive: true,
    dereference: true,
    filter: (path) => !leaveOut.test(path.slice(folder.length)),
  });
  await chmod(at, 0o755);
}

/** Adds the libraries that these programs and libraries are linked with. */
export async function addLibraries(root: string, files: readonly string[]): Promise<void> {
  const found = new Set<string>();
  // One that is linked with nothing makes ldd fail, and says so.
  for (const file of files) {
    const text = await run('ldd', [file]).catch(() => '');
    for (const [, path = ''] of text.matchAll(/(?:=> )?(\/\S+) \(0x/g)) found.add(path);
  }
  const libc = [...found].find((path) => /\/libc\.so/.test(path));
  const beside = libc === undefined ? [] : await readdir(dirname(libc));
  for (const name of LOADED_BY_NAME) if (libc && beside.includes(name)) found.add(join(dirname(libc), name));
  for (const path of found) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await copyFile(path, join(root, path));
    await chmod(join(root, path), 0o755);
  }
}
