import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const NEEDS_STACK = /^test\/(integration|security|release|bench|campaign)\//;
/** What need not run at each change: figures, foreign programs, images, and the tools of the tests. */
const RELEASE = /^test\/(release|bench|campaign|container)\//;
/** Raw kafkajs beside our client: what they show changes only with the one or the other. */
const HAZARDS = /^test\/integration\/hazards\//;
/** A file that says so changes its process for all that comes after it. */
const OWN_PROCESS = '// Needs a process of its own';

/** As measured: what begins late and takes long keeps the whole run waiting. */
const LONGEST = [
  'quiet-stream',
  'universe-is-followed',
  'stop-in-every-phase',
  'start-is-safe',
  'backfill',
  'security/kafka.test',
  'advice-is-followed',
  'walk-survives-kills',
  'prices-survive-rebalances',
  'kafka-loses-acknowledged-rows',
  'kafka-loses-a-broker',
];

/** One process of a run: the file that it is started with, and the test files that it holds. */
export interface TestProcess {
  readonly entry: string;
  readonly files: readonly string[];
}

/** The files of `npm test`. */
export function everydayFiles(files: readonly string[], hasClientChanged: () => boolean): readonly string[] {
  const everyday = files.filter((file) => !RELEASE.test(file));
  return hasClientChanged() ? everyday : everyday.filter((file) => !HAZARDS.test(file));
}

/** True if kafkajs or our client changed since the commit that gave package.json its version, or if git does not know. */
export function differsFromRelease(root: string): boolean {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  const kafkajsOf = (lock: string) => JSON.stringify(JSON.parse(lock).packages['node_modules/kafkajs']);
  try {
    if (git('rev-parse', '--is-shallow-repository') === 'true') return true;
    const release = git('log', '-1', '--format=%H', '-G', '^  "version":', '--', 'package.json');
    if (git('diff', '--name-only', release, '--', 'src/kafka') !== '') return true;
    const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
    return kafkajsOf(git('show', `${release}:package-lock.json`)) !== kafkajsOf(lock);
  } catch {
    return true;
  }
}

/** Files that need a stack have a process each; those that take longest begin, and among the others the largest. */
export function stackProcesses(root: string, files: readonly string[]): readonly TestProcess[] {
  const rankOf = (file: string) => {
    const rank = LONGEST.findIndex((name) => file.includes(name));
    return rank < 0 ? LONGEST.length : rank;
  };
  const sizeOf = (file: string) => statSync(join(root, file)).size;
  return files
    .filter((file) => NEEDS_STACK.test(file))
    .toSorted((one, other) => rankOf(one) - rankOf(other) || sizeOf(other) - sizeOf(one))
    .map((file) => ({ entry: join(root, file), files: [file] }));
}

/**
 * Other files share a process with their area, which saves a start of Node.js and of `src` for each.
 *
 * @param folder where the files that hold an area are written
 */
export function areaProcesses(root: string, files: readonly string[], folder: string): readonly TestProcess[] {
  const alone = (file: string) => readFileSync(join(root, file), 'utf8').includes(OWN_PROCESS);
  const areas = Object.groupBy(
    files.filter((file) => !NEEDS_STACK.test(file)),
    (file) => (alone(file) ? file : (/^[^/]+\/[^/]+\/[^/]+(?=\/)/.exec(file)?.[0] ?? dirname(file))),
  );
  return Object.entries(areas).map(([area, files = []]) => {
    if (files.length === 1 && files[0] !== undefined) return { entry: join(root, files[0]), files };
    const entry = join(folder, `${area.replaceAll('/', '-')}.mjs`);
    const imports = files.map((file) => `await import(${JSON.stringify(pathToFileURL(join(root, file)).href)});\n`);
    writeFileSync(entry, imports.join(''));
    return { entry, files };
  });
}
