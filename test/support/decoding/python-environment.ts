import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder } from '../../../src/dev/local-stack/java-artifacts.ts';

const INSTALL_TIMEOUT_MS = 900_000;

const run = promisify(execFile);

/**
 * A Python that has these packages, installed once into the user's cache; null when there is no python3, or nothing to
 * install from: then the test is skipped, visibly. Programs of the packages are run as modules (`-m`), since their
 * scripts name the folder in which they were installed first.
 *
 * @param packages each with its exact version, like `fastavro==1.13.1`
 * @param options.published `asSource` for packages that have no wheel: they are built here
 */
export async function pythonWith(
  packages: readonly string[],
  { published = 'asWheels' }: { readonly published?: 'asWheels' | 'asSource' } = {},
): Promise<string | null> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const name = packages
    .join('+')
    .replaceAll('==', '-')
    .replaceAll(/[^A-Za-z0-9.+-]+/g, '_');
  const folder = join(cache, 'structured-products-connect', name);
  try {
    await cachedFolder(folder, async (partial) => {
      const environment = join(partial, 'venv');
      const options = { timeout: INSTALL_TIMEOUT_MS };
      await run('python3', ['-m', 'venv', environment], options);
      const python = join(environment, 'bin', 'python');
      const wheels = published === 'asWheels' ? ['--only-binary', ':all:'] : [];
      await run(python, ['-m', 'pip', 'install', '--quiet', ...wheels, ...packages], options);
      return environment;
    });
    return join(folder, 'bin', 'python');
  } catch {
    return null;
  }
}
