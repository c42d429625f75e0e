import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { settingsText } from '../../support/connectors/connector-process.ts';
import { MAIN, settingsFile } from '../../support/connectors/settings-file.ts';
import { eventually } from '../../support/runner/eventually.ts';

const root = resolve(import.meta.dirname, '../../..');
const execute = promisify(execFile);
const MARK = 'loaded: ';
const REPORT = `
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) { process._rawDebug('${MARK}' + url); return next(url, context); } });
`;
/** With all that a running connector loads there were some 1,300. */
const MOST_FILES = 930;

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A connector that has connected to a Kafka which never answers; what it has asked of others, and loaded, until then. */
async function startWithSilentKafka(t: TestContext) {
  const asked: string[] = [];
  const http = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const isLevel = request.url?.startsWith('/config/') === true;
    response.writeHead(isLevel ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isLevel ? '{"compatibilityLevel":"FULL_TRANSITIVE"}' : '{"error_code":40401}');
  });
  t.after(() => http.closeAllConnections());
  const silent = createServer((socket) => t.after(() => socket.destroy()));
  const [url, kafka] = [`http://127.0.0.1:${await portOf(t, http)}`, await portOf(t, silent)];
  const config = await settingsFile(t, settingsText({}, `marketData: { url: "${url}" }`));
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(REPORT)}`];
  const env = {
    PATH: process.env.PATH ?? '',
    TOPIC_PREFIX: 'p',
    KAFKA_BROKERS: `127.0.0.1:${kafka}`,
    SCHEMA_REGISTRY_URL: url,
    REFERENCE_DATA_URL: url,
    AUTH_TOKEN_URL: `${url}/token`,
    CLIENT_ID: 'id',
    CLIENT_SECRET: 'a-secret-of-the-test',
    ADMIN_ENABLED: 'true',
  };
  const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];
  const child = spawn(process.execPath, [...preload, MAIN, 'run', '--config', config], { cwd: root, env, stdio });
  t.after(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  await Promise.race([
    once(silent, 'connection'),
    once(child, 'close').then(() => assert.fail(`The connector has ended:\n${stderr}`)),
  ]);
  const loaded = () => stderr.split('\n').flatMap((line) => line.split(`${MARK}file://${root}/`).slice(1));
  return { asked, loaded };
}

test('a start loads what the first poll needs: no page, no other command, no operator, no price processor', {
  timeout: 600_000,
}, async (t) => {
  const start = await startWithSilentKafka(t);
  // What it has written may come later than its connection.
  const isTheLoop = (file: string) => file === 'src/connector/source-worker.ts';
  const loaded = await eventually('the loop of a source is loaded', start.loaded, (files) => files.some(isTheLoop));
  const needless =
    /node_modules\/(fastify|ajv|@kafkajs|undici\/lib\/(web|mock))\/|src\/(operator|simulator|demo)\/|src\/app\/price-processor|src\/cli\/commands\/(?!run-)/;
  assert.deepEqual(
    loaded.filter((file) => needless.test(file)),
    [],
  );
  assert.ok(loaded.length <= MOST_FILES, `${loaded.length} files`);
});

test("nothing that is imported loads Node.js' own fetch", async () => {
  const load = "await import('./src/app/connector.ts'); process.stdout.write(process.moduleLoadList.join('\\n'));";
  const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', load], { cwd: root });
  assert.match(stdout, /^NativeModule http$/m);
  assert.doesNotMatch(stdout, /^NativeModule internal\/deps\/undici\/undici$/m);
});

test('neither sources nor processor are loaded before Kafka is asked', async () => {
  const load = `${REPORT} await import('./src/app/connector.ts');`;
  const { stderr } = await execute(process.execPath, ['--input-type=module', '--eval', load], { cwd: root });
  assert.match(stderr, /src\/kafka\/kafkajs\/kafkajs-cluster\.ts$/m);
  assert.doesNotMatch(stderr, /src\/(connector\/source-worker|processor\/partition-task|decoding\/[\w-]+)\.ts$/m);
});

test('while Kafka is asked, registry and provider are asked for all that the first poll needs of them', {
  timeout: 600_000,
}, async (t) => {
  const { asked } = await startWithSilentKafka(t);
  const isWhole = (requests: readonly string[]) =>
    ['instruments', 'instrument-events', 'notifications', 'prices'].every((topic) =>
      requests.includes(`POST /subjects/p.${topic}-value`),
    ) && requests.includes('POST /token');
  await eventually('schemas and token are asked for', () => asked, isWhole);
});
