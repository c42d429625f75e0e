import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder } from '../../src/demo/cached-folder.ts';
import { usableJava } from '../../src/demo/java-runtime.ts';
import { CONFLUENT_API_PATH } from '../../src/demo/registry.ts';
import { systemClock } from '../../src/support/clock.ts';
import { pythonWith } from '../support/python-environment.ts';
import type { TestStack } from '../support/stack.ts';

const PREPARE_LIMIT_MS = 300_000;
const READ_LIMIT_MS = 120_000;
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.0.2:copy-dependencies';
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'structured-products-connect');

const run = promisify(execFile);

/** The programs of the README that read the instruments topic, each in its folder here. */
export const FOREIGN_READERS = ['python', 'java', 'go'] as const;
export type ForeignReader = (typeof FOREIGN_READERS)[number];

/** What each program is started with; null where its language or its libraries cannot be had. */
const COMMANDS: Readonly<Record<ForeignReader, () => Promise<readonly string[] | null>>> = {
  async python() {
    const python = await pythonWith(['confluent-kafka[avro,schemaregistry]==2.16.0']);
    return python === null ? null : [python, file('python/read_instruments.py')];
  },
  async java() {
    const { program } = await usableJava(process.env);
    const jars = await cachedFolder(join(CACHE, 'foreign-java-1'), systemClock, async (partial) => {
      const goal = [COPY_DEPENDENCIES, '-DincludeScope=runtime', `-DoutputDirectory=${partial}/jars`];
      await run('mvn', ['--batch-mode', '--quiet', '-f', file('java/pom.xml'), ...goal], { timeout: PREPARE_LIMIT_MS });
      return join(partial, 'jars');
    });
    return [program, '-cp', join(jars, '*'), file('java/ReadInstruments.java')];
  },
  async go() {
    await run('go', ['-C', file('go'), 'build', '-o', join(CACHE, 'foreign-go'), '.'], { timeout: PREPARE_LIMIT_MS });
    return [join(CACHE, 'foreign-go')];
  },
};

function file(name: string): string {
  return join(import.meta.dirname, name);
}

/** The reader's command, or the reason why it cannot be had here. */
export async function foreignCommand(reader: ForeignReader): Promise<readonly string[] | Error> {
  try {
    return (await COMMANDS[reader]()) ?? new Error(`${reader} or its libraries cannot be had here`);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** What a program reads from a topic of instruments: the last issue price of each key, null for none. */
export async function readPrices(
  command: readonly string[],
  { brokers, registryUrl }: TestStack,
  topic: string,
): Promise<ReadonlyMap<string, string | null>> {
  const [program = '', ...args] = command;
  // Apicurio's own clients speak its own interface, beside the one of Confluent.
  const isJava = args.some((argument) => argument.endsWith('.java'));
  const registry = isJava ? registryUrl.replace(CONFLUENT_API_PATH, '/apis/registry/v3') : registryUrl;
  const options = { timeout: READ_LIMIT_MS, maxBuffer: 1 << 26 };
  const { stdout } = await run(program, [...args, brokers.join(','), registry, topic], options);
  return new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => {
        const [key = '', price = ''] = line.split(' ');
        return [key, price === 'None' ? null : plainDecimal(price)];
      }),
  );
}

/** `12.500` and `12.5` are one number. */
function plainDecimal(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
