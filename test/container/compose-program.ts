import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedFolder, cacheRoot } from '../../src/dev/local-stack/java-artifacts.ts';
import { ConnectorError } from '../../src/errors.ts';
import { findProgram, run } from './run.ts';

const MODULE = 'github.com/docker/compose/v2';
const VERSION = 'v2.40.3';
const BUILD_LIMIT_MS = 1_800_000;

/**
 * The words that begin a compose command: `docker compose` where it is version 2 or later, else a compose that is built
 * with Go, once, and kept in the cache.
 *
 * @throws ConnectorError STACK_UNAVAILABLE when there is neither
 */
export async function findCompose(onProgress: (line: string) => void): Promise<readonly string[]> {
  const native = await run('docker', ['compose', 'version', '--short']).catch(() => '');
  if (/^v?([2-9]|\d\d)/.test(native)) return ['docker', 'compose'];
  const folder = join(cacheRoot(process.env), `docker-compose-${VERSION}`);
  const kept = await cachedFolder(folder, async (partial) => {
    const go = await findProgram('go');
    const why = 'there is no docker compose (version 2 or later), and no Go to build it with';
    if (go === undefined) throw new ConnectorError('STACK_UNAVAILABLE', why);
    onProgress(`Building docker compose ${VERSION} with Go, once; this takes some minutes.`);
    return buildCompose(go, partial);
  });
  return [join(kept, 'docker-compose')];
}

/** `go install` refuses a module that excludes versions of others, so that a module of our own must ask for it. */
async function buildCompose(go: string, partial: string): Promise<string> {
  const files = join(partial, 'files');
  await mkdir(files);
  await writeFile(join(partial, 'go.mod'), 'module compose\n\ngo 1.24\n');
  const at = { cwd: partial, limitMs: BUILD_LIMIT_MS };
  await run(go, ['get', `${MODULE}/cmd@${VERSION}`], at);
  const version = `-X ${MODULE}/internal.Version=${VERSION}`;
  await run(go, ['build', '-ldflags', version, '-o', join(files, 'docker-compose'), `${MODULE}/cmd`], at);
  return files;
}
