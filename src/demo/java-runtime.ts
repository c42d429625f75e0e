import { execFile } from 'node:child_process';
import { glob, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ConnectorError } from '../errors.ts';
import type { Environment } from './stack-context.ts';

export const MINIMUM_JAVA = 17;

/** Where Java is installed on Linux (packages, archives), macOS (packages, Homebrew) and by SDKMAN and IntelliJ. */
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
const VERSION_TIMEOUT_MS = 10_000;

/** A Java that was started once and told its version. */
export interface JavaRuntime {
  /** The program, an absolute path without links. */
  readonly program: string;
  /** The feature release: 17, 21, 25. */
  readonly version: number;
}

/** The feature release in what `java -version` prints (to stderr), or undefined: "17.0.15" → 17, "1.8.0_402" → 8. */
export function parseJavaVersion(text: string): number | undefined {
  const numbers = /\bversion "(\d+)(?:\.(\d+))?/.exec(text);
  if (!numbers) return undefined;
  const [first, second] = [Number(numbers[1]), Number(numbers[2])];
  // Until Java 8, the feature release was the second number.
  return first === 1 && second > 0 ? second : first;
}

/**
 * The newest Java on this machine: in JAVA_HOME, on the path, or in one of the usual folders.
 * The first of several equally new ones is taken, so JAVA_HOME and the path win.
 *
 * @returns undefined when there is none at all; the caller compares with `MINIMUM_JAVA`.
 */
export async function findNewestJava(env: Environment, places = USUAL_PLACES): Promise<JavaRuntime | undefined> {
  const programs = await javaPrograms(env, places);
  const found = await Promise.all(programs.map(askVersion));
  return found
    .filter((java) => java !== undefined)
    .reduce<JavaRuntime | undefined>((best, java) => (best && best.version >= java.version ? best : java), undefined);
}

/**
 * The newest Java, if it is new enough.
 *
 * @throws ConnectorError STACK_UNAVAILABLE
 */
export async function usableJava(env: Environment): Promise<JavaRuntime> {
  const java = await findNewestJava(env);
  if (java && java.version >= MINIMUM_JAVA) return java;
  const found = java ? `the newest found is Java ${java.version}` : 'none was found';
  throw new ConnectorError('STACK_UNAVAILABLE', `Java ${MINIMUM_JAVA} or later is needed, and ${found}`);
}

async function javaPrograms(env: Environment, places: readonly string[]): Promise<string[]> {
  const home = env.HOME;
  const patterns = [
    ...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin/java')] : []),
    ...(env.PATH ?? '').split(delimiter).flatMap((folder) => (folder ? [join(folder, 'java')] : [])),
    ...places,
    ...(home ? PLACES_AT_HOME.map((place) => join(home, place)) : []),
  ];
  const programs = new Set<string>();
  for (const pattern of patterns) {
    // A folder of the path is no pattern, but its name seldom holds a star, and a wrong guess is only asked in vain.
    for await (const program of glob(pattern)) {
      if (programs.size < MAXIMUM_CANDIDATES) programs.add(await realpath(program).catch(() => program));
    }
  }
  return [...programs];
}

async function askVersion(program: string): Promise<JavaRuntime | undefined> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, ['-version'], { timeout: VERSION_TIMEOUT_MS });
    const version = parseJavaVersion(`${stderr}\n${stdout}`);
    return version === undefined ? undefined : { program, version };
  } catch {
    // A file that is no Java, or one for another processor (macOS has such a stand-in on its path).
    return undefined;
  }
}
