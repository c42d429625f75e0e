import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ConnectorError } from '../../errors.ts';
import type { BackOff } from '../../support/back-off.ts';
import { retry } from '../../support/retry.ts';
import type { StackContext, StackEnvironment } from './stack-context.ts';

export const KAFKA_VERSION = '4.3.1';

/** The variable that names another release of Kafka, for tests against older brokers. Exported for tests. */
export const KAFKA_VERSION_VARIABLE = 'LOCAL_KAFKA_VERSION';
const RELEASE = /^\d+\.\d+\.\d+$/;

/** The releases of Apicurio Registry, newest first, with the oldest Java that can run each. Exported for tests. */
export const REGISTRY_RELEASES = [
  { version: '3.3.3', minimumJava: 21, jar: 'quarkus-run.jar', megabytes: 159 },
  { version: '3.0.9', minimumJava: 17, jar: 'apicurio-registry-app-3.0.9-runner.jar', megabytes: 109 },
] as const;

export type RegistryRelease = (typeof REGISTRY_RELEASES)[number];

/**
 * A fixed version: versions 3.1 to 3.8 of this plugin cannot fetch Apicurio 3.0.9, whose parent pom is not in Maven
 * Central.
 */
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.9.0';

const DOWNLOAD_TIMEOUT_MS = 1_200_000;
const DOWNLOAD_TRIES = 3;
const PAUSE: BackOff = { initialMs: 3_000, maximumMs: 6_000 };

/** The newest registry that runs on this Java; undefined below Java 17. */
export function registryFor(javaVersion: number): RegistryRelease | undefined {
  return REGISTRY_RELEASES.find((release) => javaVersion >= release.minimumJava);
}

export function kafkaVersion(env: StackContext['env']): string {
  const version = env[KAFKA_VERSION_VARIABLE] || KAFKA_VERSION;
  if (RELEASE.test(version)) return version;
  throw new ConnectorError(
    'STACK_UNAVAILABLE',
    `${KAFKA_VERSION_VARIABLE} is ${JSON.stringify(version)}; expected a release like ${KAFKA_VERSION}`,
  );
}

/** The folder with Kafka's jars. Maven downloads them if the cache does not contain them. */
export function kafkaJars(context: StackContext): Promise<string> {
  const version = kafkaVersion(context.env);
  return fromMaven(context, `kafka-${version}`, `Kafka ${version} (44 MB)`, (folder) => [
    `${DEPENDENCY_PLUGIN}:copy-dependencies`,
    '-DincludeScope=runtime',
    `-DoutputDirectory=${folder}`,
  ]);
}

/** The folder with the registry's program. Maven downloads it if the cache does not contain it. */
export function registryFiles(context: StackContext, release: RegistryRelease): Promise<string> {
  const what = `Apicurio Registry ${release.version} (${release.megabytes} MB)`;
  return fromMaven(context, `apicurio-registry-${release.version}`, what, (folder) => [
    `${DEPENDENCY_PLUGIN}:unpack`,
    `-Dartifact=io.apicurio:apicurio-registry-app:${release.version}:tar.gz:all`,
    `-DoutputDirectory=${folder}`,
  ]);
}

async function fromMaven(
  context: StackContext,
  name: string,
  what: string,
  goal: (folder: string) => readonly string[],
): Promise<string> {
  return cachedFolder(join(cacheRoot(context.env), name), async (partial) => {
    context.onProgress(`Downloading ${what} with Maven, once.`);
    const files = join(partial, 'files');
    await mkdir(files);
    await writeFile(join(partial, 'pom.xml'), pomWith(kafkaVersion(context.env)));
    await runMaven(context, partial, goal(files), what);
    return files;
  });
}

async function runMaven(context: StackContext, folder: string, goal: readonly string[], what: string): Promise<void> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]);
  // Without `--update-snapshots`, Maven remembers a failed download and does not repeat the download for a day.
  const flags = ['--batch-mode', '--update-snapshots', '--quiet'];
  const run = async () => {
    await promisify(execFile)('mvn', [...flags, ...goal], { cwd: folder, env: context.env, signal });
  };
  try {
    await retry(run, {
      ...context,
      backOff: PAUSE,
      attempts: DOWNLOAD_TRIES,
      mayRetry: (error) => !signal.aborted && (error as { code?: unknown }).code !== 'ENOENT',
      attemptFailed: ({ err }) => context.onProgress(`${mavenFailure(err, what)}. Trying again.`),
      random: () => 1,
    });
  } catch (cause) {
    context.signal.throwIfAborted();
    throw new ConnectorError('STACK_UNAVAILABLE', mavenFailure(cause, what), { cause });
  }
}

function mavenFailure(error: unknown, what: string): string {
  const { code, name, stdout } = error as { code?: unknown; name?: string; stdout?: string };
  if (code === 'ENOENT') return `Maven (mvn), which fetches ${what}, is not on the path`;
  if (name === 'AbortError') return `Maven did not get ${what} within ${DOWNLOAD_TIMEOUT_MS / 60_000} minutes`;
  const first = /\[ERROR\] (.*)/.exec(stdout ?? '')?.[1] ?? String(error);
  return `Maven could not get ${what}: ${first.slice(0, 300)}`;
}

// Kafka's jars contain no implementation of slf4j. Without an implementation, Kafka does not log why it fails to start.
const pomWith = (kafka: string) => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>structured-products-connect</groupId>
  <artifactId>local-stack</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${kafka}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

/** The folder for downloads, outside of the repository. Exported for tests. */
export function cacheRoot(env: StackEnvironment): string {
  const base = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache');
  return join(base, 'structured-products-connect');
}

/**
 * Returns the path of a cached folder, and fills the folder if it does not exist. The folder is never half filled,
 * because each process fills a separate folder and then renames it. If two processes fill it at once, the second
 * process uses the folder of the first process. Exported for tests.
 * @param fill writes into the given folder, and returns the subfolder to keep.
 */
export async function cachedFolder(folder: string, fill: (partial: string) => Promise<string>): Promise<string> {
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    const filled = await fill(partial);
    await rename(filled, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return folder;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
