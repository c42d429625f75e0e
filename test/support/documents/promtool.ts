import { execFile, spawn } from 'node:child_process';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { cachedFolder, cacheRoot } from '../../../src/dev/local-stack/java-artifacts.ts';

const run = promisify(execFile);
const DOWNLOAD_TIMEOUT_MS = 600_000;
const CHECK_TIMEOUT_MS = 1_200_000;

let found: Promise<string> | undefined;

/**
 * promtool from the path, from the cache, or from Debian's package (19 MB, some seconds, once; no root needed).
 * Where there is none, the test is skipped, and says so.
 */
export async function promtoolOrSkip(t: TestContext) {
  try {
    found ??= findPromtool();
    const program = await found;
    return { check: (args: readonly string[], input = '') => check(program, args, input) };
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 300) : String(error);
    t.skip(`SKIPPED, no promtool: put it on the path (https://prometheus.io/download). Debian's package: ${why}`);
    return undefined;
  }
}

async function findPromtool(): Promise<string> {
  const onPath = await run('promtool', ['--version']).catch(() => undefined);
  if (onPath) return 'promtool';
  return join(await prometheusPrograms(), 'promtool');
}

/** The folder with `prometheus` and `promtool` of Debian's package. */
export function prometheusPrograms(): Promise<string> {
  return cachedFolder(join(cacheRoot(process.env), 'prometheus'), download);
}

/** With lists and cache of its own, apt needs neither root nor lists that somebody has fetched before. */
async function download(partial: string): Promise<string> {
  const signal = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const [lists, archives, unpacked, files] = ['lists', 'archives', 'unpacked', 'files'].map((name) =>
    join(partial, name),
  );
  for (const folder of [join(lists ?? '', 'partial'), join(archives ?? '', 'partial'), files ?? '']) {
    await mkdir(folder, { recursive: true });
  }
  const own = ['-q', '-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${archives}`, '-o', 'APT::Sandbox::User='];
  await run('apt-get', [...own, 'update'], { cwd: partial, signal });
  await run('apt-get', [...own, 'download', 'prometheus'], { cwd: partial, signal });
  const [archive] = (await readdir(partial)).filter((name) => name.endsWith('.deb'));
  await run('dpkg-deb', ['-x', archive ?? '', unpacked ?? ''], { cwd: partial, signal });
  for (const name of ['prometheus', 'promtool']) {
    await rename(join(unpacked ?? '', 'usr/bin', name), join(files ?? '', name));
  }
  return files ?? '';
}

/** The exit code, and all that it printed. */
function check(program: string, args: readonly string[], input: string) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: CHECK_TIMEOUT_MS });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output += text;
    });
  }
  child.stdin.end(input);
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
