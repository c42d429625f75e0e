import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkConnections } from '../../src/commands/validate-command.ts';
import { loadSettings } from '../../src/config/load.ts';
import { freePorts } from '../../src/dev/local-stack/free-ports.ts';
import { createSimulator, type Simulator } from '../../src/dev/simulator/simulator.ts';
import { createKafkaCluster } from '../../src/run/kafka-client.ts';
import { systemClock } from '../../src/support/clock.ts';
import { createMemoryRegistry } from '../support/connectors/memory-scene.ts';
import { NOWHERE, startConnector } from '../support/connectors/running-connector.ts';
import { PATIENT_BROKER } from '../support/kafka/patient-broker.ts';
import { loadRawKafkajs } from '../support/kafka/raw-kafkajs.ts';
import { ownKafkaOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { eventually } from '../support/runner/eventually.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';
import { keepingLog } from '../unit/provider/http/loopback.ts';

const AUDIENCE = 'kafka';
/** The longest session of a login at the listener SHORT: kafkajs itself cannot live with 10 s or less. */
const SESSION_MS = 4_000;

type OauthKafka = NonNullable<Awaited<ReturnType<typeof oauthKafkaOrSkip>>>;

/**
 * A broker that verifies the simulator's tokens by their signature, issuer, audience and expiry; host:port of two listeners:
 * with sessions as long as the token, and of 4 s at most.
 */
async function oauthKafkaOrSkip(t: TestContext, simulator: Simulator) {
  const [login, short] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
  const keysUrl = `${simulator.controlUrl}tokens/keys`;
  const own = [`LOGIN://${login}`, `SHORT://${short}`];
  const perListener = ['login', 'short'].flatMap((name): [string, string][] => {
    const prefix = `listener.name.${name}`;
    const mechanism = `${prefix}.oauthbearer`;
    return [
      [`${prefix}.sasl.enabled.mechanisms`, 'OAUTHBEARER'],
      [
        `${mechanism}.sasl.server.callback.handler.class`,
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler',
      ],
      [
        `${mechanism}.sasl.jaas.config`,
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="x";',
      ],
      ...(name === 'short' ? [[`${mechanism}.connections.max.reauth.ms`, String(SESSION_MS)] as [string, string]] : []),
    ];
  });
  const kafka = await ownKafkaOrSkip(t, {
    javaFlags: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${keysUrl}`],
    settings: ({ listener, controller }) => ({
      ...PATIENT_BROKER,
      listeners: [`PLAINTEXT://${listener}`, `CONTROLLER://${controller}`, ...own].join(','),
      'advertised.listeners': [`PLAINTEXT://${listener}`, ...own].join(','),
      'listener.security.protocol.map':
        'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT',
      'sasl.oauthbearer.jwks.endpoint.url': keysUrl,
      'sasl.oauthbearer.expected.audience': AUDIENCE,
      'sasl.oauthbearer.expected.issuer': 'https://simulator.example',
      'sasl.oauthbearer.clock.skew.seconds': '1',
      ...Object.fromEntries(perListener),
    }),
  });
  return kafka && { login, short };
}

const TOKEN_SECONDS = 4;
const never = new AbortController().signal;

interface Scene extends OauthKafka {
  readonly simulator: Simulator;
}

const client = ({ tokenUrl, clientId, clientSecret }: Simulator, audience = AUDIENCE) =>
  `tokenUrl: "${tokenUrl}", clientId: ${clientId}, clientSecret: "${clientSecret}", audience: ${audience}`;

function settingsOf({ simulator }: Scene, broker: string, sasl: string, prefix = uniquePrefix('oauth')) {
  const text = `
prefix: ${prefix}
referenceData:
  url: ${simulator.referenceDataUrl}
  auth: { type: none }
schemaRegistry: { url: http://127.0.0.1:1 }
kafka: { brokers: "${broker}", sasl: { mechanism: oauthbearer, ${sasl} } }`;
  return loadSettings({ text, env: {} });
}

/** A token as another program would fetch it. */
async function fetchToken({ tokenUrl, clientId, clientSecret }: Simulator, audience = AUDIENCE): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, audience };
  const response = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}

/** Commits one transaction after the other until `isEnough`; any that fails, fails the test. */
async function commitUntil(t: TestContext, at: Scene, broker: string, sasl: string, isEnough: () => boolean) {
  const { warn, error, lines } = keepingLog();
  const log = { warn, error, debug() {}, info() {} };
  const settings = await settingsOf(at, broker, sasl);
  const cluster = await createKafkaCluster(settings, { clock: systemClock, random: Math.random, log });
  t.after(() => cluster.close());
  const topic = `${settings.prefix}.x`;
  const specification = { name: topic, partitions: 1, replicationFactor: 1, settings: { 'cleanup.policy': 'delete' } };
  await cluster.ensureTopics([specification], { create: true });
  const writer = cluster.transactionalWriter(`${settings.prefix}-writer`);
  await writer.open(async () => null, never);
  const record = { topic, partition: 0, key: Buffer.from('key'), value: Buffer.from('value'), headers: {} };
  let committed = 0;
  while (!isEnough() || committed < 3) {
    await writer.commit({ records: [record] });
    committed += 1;
    await systemClock.sleep(20);
  }
  await writer.close();
  const failures = lines.filter((line) => /token request failed|refuses|SASL/.test(line));
  assert.deepEqual(failures, []);
}

test('Kafka with tokens', async (t) => {
  const simulator = await createSimulator({ instruments: 20, port: 0, tokenLifetimeSeconds: TOKEN_SECONDS });
  t.after(() => simulator.close());
  const brokers = await oauthKafkaOrSkip(t, simulator);
  if (!brokers) return;
  const at: Scene = { ...brokers, simulator };

  await t.test('raw kafkajs fails on sessions of a few seconds, and on a refused token it says nothing', async (t) => {
    const { Kafka, logLevel } = loadRawKafkajs();
    const failureOf = async (audience: string) => {
      const sasl = {
        mechanism: 'oauthbearer' as const,
        oauthBearerProvider: async () => ({ value: await fetchToken(simulator, audience) }),
      };
      const admin = new Kafka({
        brokers: [at.short],
        sasl,
        retry: { retries: 0 },
        logLevel: logLevel.NOTHING,
      }).admin();
      t.after(() => admin.disconnect());
      return eventually(
        `raw kafkajs fails with a token for ${audience}`,
        () =>
          admin
            .connect()
            .then(() => admin.listTopics())
            .then(
              () => '',
              (error: Error) => error.message,
            ),
        (message) => message !== '',
      );
    };
    assert.match(await failureOf(AUDIENCE), /Request is not valid given the current SASL state|Closed connection/);
    assert.doesNotMatch(await failureOf('another'), /token|audience|SASL/i);
  });

  await t.test(
    'tokens and sessions of a few seconds end, and keys are rotated, while no transaction fails',
    async (t) => {
      const folder = temporaryFolder(t);
      const file = join(folder, 'token');
      const renewFile = async () => {
        await writeFile(`${file}.new`, `${await fetchToken(simulator)}\n`);
        await rename(`${file}.new`, file);
      };
      await renewFile();
      const done = new AbortController();
      const renewing = (async () => {
        while (!done.signal.aborted) {
          await systemClock.sleep(TOKEN_SECONDS * 500, done.signal).catch(() => {});
          await renewFile();
        }
      })();
      // Three lives of a token, whatever the machine's speed; the brokers have fetched the next key with the first.
      const startedMs = performance.now();
      let isRotated = false;
      const isEnough = () => {
        const lives = (performance.now() - startedMs) / (TOKEN_SECONDS * 1_000);
        if (lives > 1 && !isRotated) simulator.rotateSigningKey();
        isRotated ||= lives > 1;
        return lives > 3;
      };
      try {
        await Promise.all([
          commitUntil(t, at, at.login, client(simulator), isEnough),
          commitUntil(t, at, at.short, client(simulator), isEnough),
          commitUntil(t, at, at.short, `tokenFile: "${file}"`, isEnough),
        ]);
      } finally {
        done.abort();
        await renewing;
      }
    },
  );

  await t.test('a key that the brokers have not fetched yet is no error: the login is tried again', async (t) => {
    for (const _ of ['the next, which they know', 'the one behind it, which they do not']) simulator.rotateSigningKey();
    await commitUntil(t, at, at.login, client(simulator), () => true);
  });

  await t.test('a whole list goes onto Kafka, and the replica goes on when its tokens have ended', async (t) => {
    const stack = { ...NOWHERE, brokers: [at.short] };
    const overrides = { registry: createMemoryRegistry() };
    const kafka = `, sasl: { mechanism: oauthbearer, ${client(simulator)} }`;
    const prefix = uniquePrefix('oauth');
    const connector = await startConnector(t, { stack, simulator, prefix, kafka, overrides });
    const { fields } = await connector.event('walkCompleted');
    assert.equal(fields.added, 20);
    const endMs = performance.now() + 2_000 * TOKEN_SECONDS;
    const committed = () => connector.fieldsOf('streamCommitted').length;
    let before = Number.POSITIVE_INFINITY;
    const goesOn = () => {
      simulator.change(1);
      if (before === Number.POSITIVE_INFINITY && performance.now() > endMs) before = committed();
      return committed();
    };
    await eventually('events are committed after two lives of a token', goesOn, (count) => count > before);
    assert.deepEqual(await connector.stop(), []);
    const failures = [...connector.fieldsOf('attemptFailed'), ...connector.fieldsOf('sourceFailed')];
    assert.deepEqual(
      failures.map((event) => JSON.stringify(event)).filter((text) => /token|SASL/i.test(text)),
      [],
    );
  });

  await t.test('a token that the brokers refuse is reported with what it says and what to do', async () => {
    const cases = [
      [
        client(simulator, 'another'),
        /^The login at Kafka \(127\.0\.0\.1:\d+\) failed\. The broker \S+ refuses the token of kafka\.sasl \(invalid_token\)\. It has issuer "https:\/\/simulator\.example", audience "another", subject "simulated-client", .*it expires in \d s\. Compare it with what the brokers expect \(sasl\.oauthbearer\.expected\.audience/,
      ],
      [`token: not-a-jwt`, /refuses the token of kafka\.sasl .*It is no JWT/],
      [
        client(simulator).replace(simulator.clientSecret, 'wrong'),
        /There is no token for the brokers\. The token request of kafka\.sasl \(POST http:.*\) answered 401 \(invalid_client/,
      ],
    ] as const;
    for (const [sasl, expected] of cases) {
      const settings = await settingsOf(at, at.login, sasl);
      const checks = await checkConnections({ settings, signal: AbortSignal.timeout(600_000) });
      const failed = checks.find(({ what }) => what.startsWith('brokers'));
      assert.equal(failed?.state, 'failed');
      assert.match(failed?.says ?? '', expected);
      assert.doesNotMatch(JSON.stringify(checks), /eyJ|not-a-jwt/);
    }
  });
});
