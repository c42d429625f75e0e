import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder } from '../../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../../src/dev/local-stack/java-runtime.ts';
import { CONFLUENT_API_PATH } from '../../src/dev/local-stack/registry.ts';
import { addHardRecords, ownPrices } from '../foreign/hard-records.ts';
import { testInstallation } from '../support/connectors/installation.ts';
import { pythonWith } from '../support/decoding/python-environment.ts';
import type { TestStack } from '../support/kafka/stack.ts';
import { fenceSource } from '../support/ledgers/at-rest.ts';
import { eventually } from '../support/runner/eventually.ts';

const PREPARE_LIMIT_MS = 900_000;
const READ_LIMIT_MS = 900_000;
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.0.2:copy-dependencies';
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'structured-products-connect');

const run = promisify(execFile);

/** The programs of the README that read the instruments topic, each in its folder here. */
const FOREIGN_READERS = ['python', 'java', 'go', 'flink', 'spark'] as const;
type ForeignReader = (typeof FOREIGN_READERS)[number];

interface ForeignCommand {
  /** The program and its first arguments; brokers, registry and topic follow. */
  readonly words: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where the registry answers the program, unless it speaks Confluent's interface. */
  readonly registryPath?: string;
}

/** What each program is started with; null where its language or its libraries cannot be had. */
const COMMANDS: Readonly<Record<ForeignReader, () => Promise<ForeignCommand | null>>> = {
  async python() {
    const python = await pythonWith(['confluent-kafka[avro,schemaregistry]==2.16.0']);
    return python === null ? null : { words: [python, file('python/read_instruments.py')] };
  },
  async java() {
    const words = await javaWords('java');
    // Apicurio's own clients speak its own interface, beside the one of Confluent.
    return { words, registryPath: '/apis/registry/v3' };
  },
  async go() {
    await run('go', ['-C', file('go'), 'build', '-o', join(CACHE, 'foreign-go'), '.'], { timeout: PREPARE_LIMIT_MS });
    return { words: [join(CACHE, 'foreign-go')] };
  },
  async flink() {
    return { words: await javaWords('flink') };
  },
  async spark() {
    const python = await pythonWith(['pyspark==4.0.0'], { published: 'asSource' });
    if (python === null) return null;
    const folder = await jars('spark');
    const list = (await readdir(folder)).map((jar) => join(folder, jar)).join(',');
    const submit = `--master local[1] --conf spark.ui.enabled=false --jars ${list} pyspark-shell`;
    // Spark itself chooses its Java, by JAVA_HOME or the path: it does not run with each one.
    const env = { PYSPARK_SUBMIT_ARGS: submit, SPARK_LOCAL_IP: '127.0.0.1' };
    return { words: [python, file('spark/read_instruments.py')], env };
  },
};

async function javaWords(reader: ForeignReader): Promise<readonly string[]> {
  const { program } = await usableJava(process.env);
  return [program, '-cp', join(await jars(reader), '*'), file(`${reader}/ReadInstruments.java`)];
}

/** The folder of the libraries that the program's pom names. */
function jars(reader: ForeignReader): Promise<string> {
  return cachedFolder(join(CACHE, `foreign-${reader}-1`), async (partial) => {
    const goal = [COPY_DEPENDENCIES, '-DincludeScope=runtime', `-DoutputDirectory=${partial}/jars`];
    const args = ['--batch-mode', '--quiet', '-f', file(`${reader}/pom.xml`), ...goal];
    await run('mvn', args, { timeout: PREPARE_LIMIT_MS });
    return join(partial, 'jars');
  });
}

function file(name: string): string {
  return resolve(import.meta.dirname, '../foreign', name);
}

/** The reader's command, or the reason why it cannot be had here. */
async function foreignCommand(reader: ForeignReader): Promise<ForeignCommand | Error> {
  try {
    return (await COMMANDS[reader]()) ?? new Error(`${reader} or its libraries cannot be had here`);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** What a program reads from a topic of instruments: the last issue price of each key, null for none. */
async function readPrices(
  { words, env, registryPath = CONFLUENT_API_PATH }: ForeignCommand,
  { brokers, registryUrl }: TestStack,
  topic: string,
): Promise<ReadonlyMap<string, string | null>> {
  const [program = '', ...args] = words;
  const registry = registryUrl.replace(CONFLUENT_API_PATH, registryPath);
  const folder = await mkdtemp(join(tmpdir(), 'foreign-reader-'));
  try {
    const options = {
      maxBuffer: 1 << 26,
      cwd: folder,
      env: {
        ...process.env,
        ...env,
        // Of a Python that is ended below, the error reports what it had read and where it stood.
        PYTHONFAULTHANDLER: '1',
        PYTHONUNBUFFERED: '1',
        // Any Java among them takes this: little memory, a quick start, and nothing left behind.
        JAVA_TOOL_OPTIONS: `-Xmx1g -XX:TieredStopAtLevel=1 -Djava.io.tmpdir=${folder}`,
      },
    };
    const reading = run(program, [...args, brokers.join(','), registry, topic], options);
    // The limit of execFile itself would throw away what the program says as it ends.
    const limit = setTimeout(() => reading.child.kill('SIGABRT'), READ_LIMIT_MS);
    const { stdout } = await reading.finally(() => clearTimeout(limit));
    return new Map(stdout.trim().split('\n').map(keyAndPrice));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function keyAndPrice(line: string): readonly [string, string | null] {
  const [key = '', price = ''] = line.split(' ');
  return [key, price === 'None' ? null : plainDecimal(price)];
}

/** `12.500` and `12.5` are one number. */
function plainDecimal(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

const INSTRUMENTS = 300;
const root = resolve(import.meta.dirname, '../..');
// Python alone by default: it is quick to have. FOREIGN_READERS=python,java,go,flink,spark names others.
const wanted = (process.env.FOREIGN_READERS ?? 'python').split(',');
const readers = FOREIGN_READERS.filter((reader) => wanted.includes(reader));

const WALKED = { simulator: { instruments: INSTRUMENTS, seed: 21 } };

testInstallation(
  'the programs of other languages read the digits of every price, later schemas and deletions, and no dropped page',
  WALKED,
  async (t, at) => {
    const { stack, broker, kafka, prefix } = at;
    const connector = await at.start();
    await connector.event('walkCompleted');
    await connector.stop();
    await fenceSource(kafka, prefix);
    const topic = `${prefix}.instruments`;
    const walked = await at.read('instruments');
    const changed = await addHardRecords(broker, stack.registryUrl, walked);
    const expected = new Map([...ownPrices(walked), ...changed]);
    assert.equal(expected.size, INSTRUMENTS);
    for (const reader of readers) {
      await t.test(reader, async (inner) => {
        const command = await foreignCommand(reader);
        if (command instanceof Error) return inner.skip(command.message.split('\n')[0]);
        const prices = await readPrices(command, stack, topic);
        assert.deepEqual([...prices].sort(), [...expected].sort());
      });
    }
  },
);

const PRICED = {
  simulator: { instruments: 60, seed: 21 },
  prices: '{ kinds: { overview: { refreshInterval: 1s } } }',
};

testInstallation(
  'the program that schemas/README.md prints, with the packages that it names, reads the newest prices and ends',
  PRICED,
  async (t, at) => {
    const { stack, simulator, prefix } = at;
    const readme = readFileSync(join(root, 'schemas/README.md'), 'utf8');
    const [, packages = ''] = /^python3 -m pip install '(.+)'$/m.exec(readme) ?? assert.fail();
    const [, file = ''] = /^python3 (test\/foreign\/\S+\.py) /m.exec(readme) ?? assert.fail();
    assert.ok(readme.includes(`\`\`\`python\n${readFileSync(join(root, file), 'utf8')}\`\`\``), `${file} differs`);
    const python = await pythonWith([packages]);
    if (python === null) return t.skip('no python3 with these packages can be had here');
    const connector = await at.start();
    await connector.event('walkCompleted');
    const pricedSoFar = () => connector.fieldsOf('batchPriced').reduce((sum, { priced }) => sum + priced, 0);
    await eventually('each instrument has a price', pricedSoFar, (priced) => priced >= 2 * simulator.size);
    // Prices keep coming meanwhile.
    const args = [join(root, file), stack.brokers.join(','), stack.registryUrl, `${prefix}.prices`];
    const { stdout } = await promisify(execFile)(python, args, { timeout: 600_000 });
    const rows = stdout.trim().split('\n');
    for (const row of rows)
      assert.match(row, /^\d+ [A-Z]{2}\w{10} (?:\d+(?:\.\d*[1-9])?|None) (?:\d+(?:\.\d*[1-9])?|None)$/);
    assert.equal(new Set(rows.map((row) => row.split(' ')[0])).size, simulator.size);
    const misspelled = promisify(execFile)(python, args.with(-1, `${prefix}.price`), { timeout: 600_000 });
    await assert.rejects(misspelled, {
      code: 1,
      stdout: '',
      stderr: new RegExp(`^${prefix}\\.price: .*[Uu]nknown topic`),
    });
  },
);
