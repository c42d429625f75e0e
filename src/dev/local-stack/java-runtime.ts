import { execFile } from 'node:child_process';
import { readdir, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ConnectorError } from '../../errors.ts';
import type { StackEnvironment } from './stack-context.ts';

const MINIMUM_JAVA = 17;

/** The usual folders of Java: those of Linux and macOS, and those of Homebrew, SDKMAN and IntelliJ. */
const USUAL_PLACES = [
  '/usr/lib/jvm/*/bin/java',
  '/usr/java/*/bin/java',
  '/opt/*/bin/java',
  '/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java',
  '/opt/homebrew/opt/openjdk*/bin/java',
  '/usr/local/opt/openjdk*/bin/java',
];
const PLACES_AT_HOME = [
  '.sdkman/candidates/java/*/bin/java',
  '.jdks/*/bin/java',
  'Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java',
];
const MAXIMUM_CANDIDATES = 40;
const VERSION_TIMEOUT_MS = 60_000;

/** A Java program with the version that `java -version` reported. */
export interface JavaRuntime {
  /** The absolute path of the program, without symbolic links. */
  readonly program: string;
  /** The feature release, such as 17, 21 or 25. */
  readonly version: number;
}

/**
 * The feature release in the output of `java -version` (on stderr), or undefined: "17.0.15" → 17, "1.8.0_402" → 8.
 * Exported for tests.
 */
export function parseJavaVersion(text: string): number | undefined {
  const numbers = /\bversion "(\d+)(?:\.(\d+))?/.exec(text);
  if (!numbers) return undefined;
  const [first, second] = [Number(numbers[1]), Number(numbers[2])];
  // Up to Java 8, the feature release was the second number.
  return first === 1 && second > 0 ? second : first;
}

/**
 * The newest Java on this machine: in JAVA_HOME, on the path, or in one of the usual folders. Of several programs with
 * the newest version, the first in this order is returned. Exported for tests.
 * @returns undefined if there is no Java; the caller compares the version with `MINIMUM_JAVA`.
 */
export async function findNewestJava(env: StackEnvironment, places = USUAL_PLACES): Promise<JavaRuntime | undefined> {
  const programs = await javaPrograms(env, places);
  const found = await Promise.all(programs.map(askVersion));
  return found
    .filter((java) => java !== undefined)
    .reduce<JavaRuntime | undefined>((best, java) => (best && best.version >= java.version ? best : java), undefined);
}

/**
 * The newest Java on this machine.
 * @throws ConnectorError STACK_UNAVAILABLE without a Java of version `MINIMUM_JAVA` or later.
 */
export async function usableJava(env: StackEnvironment, places = USUAL_PLACES): Promise<JavaRuntime> {
  const java = await findNewestJava(env, places);
  if (java && java.version >= MINIMUM_JAVA) return java;
  const found = java ? `the newest found is Java ${java.version}` : 'none was found';
  throw new ConnectorError('STACK_UNAVAILABLE', `Java ${MINIMUM_JAVA} or later is needed, and ${found}`);
}

async function javaPrograms(env: StackEnvironment, places: readonly string[]): Promise<string[]> {
  const home = env.HOME;
  const folders = [...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin')] : []), ...(env.PATH ?? '').split(delimiter)];
  const usual = [...places, ...(home ? PLACES_AT_HOME.map((place) => join(home, place)) : [])];
  const found = [
    ...folders.filter((folder) => folder !== '').map((folder) => join(folder, 'java')),
    ...(await Promise.all(usual.map(expand))).flat(),
  ];
  // The same Java is often found several times, through links. `realpath` rejects if there is no such program.
  const programs = await Promise.all(found.map((program) => realpath(program).catch(() => [])));
  return [...new Set(programs.flat())].slice(0, MAXIMUM_CANDIDATES);
}

/** The folders that match a path with one star, including links to folders. Node's glob omits these links. */
async function expand(place: string): Promise<string[]> {
  const [start = '', rest = ''] = place.split('*');
  const folder = start.endsWith('/') ? start : dirname(start);
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => join(folder, name).startsWith(join(start))).map((name) => join(folder, name, rest));
}

async function askVersion(program: string): Promise<JavaRuntime | undefined> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, ['-version'], { timeout: VERSION_TIMEOUT_MS });
    const version = parseJavaVersion(`${stderr}\n${stdout}`);
    return version === undefined ? undefined : { program, version };
  } catch {
    // The file is not a Java runtime (macOS has a placeholder on its path), or the file is for another processor.
    return undefined;
  }
}
