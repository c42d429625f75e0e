import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkConnections } from '../../src/commands/validate-command.ts';
import { loadSettings } from '../../src/config/load.ts';
import { freePorts } from '../../src/dev/local-stack/free-ports.ts';
import { createSimulator, type Simulator } from '../../src/dev/simulator/simulator.ts';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { offsetKey, offsetPartition } from '../../src/kafka/offset-store.ts';
import { createKafkaCluster } from '../../src/run/kafka-client.ts';
import { systemClock } from '../../src/support/clock.ts';
import { createMemoryRegistry } from '../support/connectors/memory-scene.ts';
import { namesOnOnePartition } from '../support/connectors/neighbours.ts';
import { NOWHERE, startConnector } from '../support/connectors/running-connector.ts';
import { allow, DENIED, deny } from '../support/kafka/kafka-rights.ts';
import { PATIENT_BROKER } from '../support/kafka/patient-broker.ts';
import { loadRawKafkajs } from '../support/kafka/raw-kafkajs.ts';
import { setScramPassword } from '../support/kafka/scram-password.ts';
import { PASSWORD, type SecuredKafka, securedKafkaOrSkip, USER } from '../support/kafka/secured-kafka.ts';
import { ownKafkaOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { eventually } from '../support/runner/eventually.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';
import { keepingLog } from '../unit/provider/http/loopback.ts';
import { makeCertificates } from './certificates.ts';

const PRINCIPAL = `User:${USER}`;

interface SecuredScene {
  readonly kafka: SecuredKafka;
  readonly simulator: Simulator;
}

/** What a right that is missing stops, on a broker that goes by rules. */
async function checkRights(t: TestContext, { kafka, simulator }: SecuredScene): Promise<void> {
  const start = async (t: TestContext, prefix: string, names: readonly string[]) => {
    const source = names.map((name) => {
      return { name, type: 'events', topics: `{ instrument-events: ${name} }`, pollInterval: '100ms' } as const;
    });
    const login = `, sasl: { mechanism: scram-sha-512, username: ${USER}, password: ${PASSWORD} }`;
    const stack = { ...NOWHERE, brokers: [kafka.at.CLEAR] };
    const overrides = { registry: createMemoryRegistry() };
    const connector = await startConnector(t, { stack, simulator, prefix, kafka: login, source, overrides });
    const seen = connector.fieldsOf;
    const committed = (name: string) => seen('streamCommitted').filter((fields) => fields.source === name).length;
    const whileThingsHappen = <Seen>(look: () => Seen) => {
      simulator.change(1);
      return look();
    };
    return {
      seen,
      ended: connector.ended,
      async goesOn(name: string) {
        const before = committed(name);
        const more = () => whileThingsHappen(() => committed(name));
        await eventually(`${name} goes on`, more, (count) => count > before);
      },
      async failures(count: number) {
        const failed = () => whileThingsHappen(() => seen('sourceFailed'));
        return eventually('it has failed', failed, ({ length }) => length >= count);
      },
    };
  };

  await t.test('with the rights of the README a writer learns how its last transaction ended', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const lines: string[] = [];
    const log = { debug: (_fields: object, line: string) => void lines.push(line), info() {}, warn() {}, error() {} };
    const cluster = connectKafka({
      brokers: [kafka.at.CLEAR],
      clientId: 'test',
      sasl: { mechanism: 'scram-sha-512', username: USER, password: PASSWORD },
      clock: systemClock,
      random: Math.random,
      log,
    });
    t.after(() => cluster.close());
    const topic = { name: `${prefix}.rows`, partitions: 1, replicationFactor: 1, settings: {} };
    await cluster.ensureTopics([topic], { create: true });
    const at = { topic: topic.name, partition: 0 };
    const writer = cluster.transactionalWriter(`${prefix}-rows`, { abortHanging: () => [at] });
    const learned = () => lines.filter((line) => line.includes('the last transaction was committed')).length;
    await writer.open(async () => {}, t.signal);
    await writer.commit({ records: [{ ...at, key: Buffer.from('k'), value: Buffer.from('v'), headers: {} }] });
    assert.equal(learned(), 0);
    await writer.open(async () => {}, t.signal);
    assert.equal(learned(), 1);
  });

  await t.test('a right that is taken away on one topic stops its source alone, and says which right', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const [kept = '', barred = ''] = namesOnOnePartition(2);
    const { seen, goesOn, failures } = await start(t, prefix, [kept, barred]);
    await goesOn(barred);
    await deny(kafka, PRINCIPAL, `${prefix}.${barred}`, DENIED.writeTo);
    const [failure] = await failures(1);
    assert.deepEqual([failure.source, failure.err.code], [barred, 'TOPIC_REFUSED']);
    assert.match(failure.err.message, /TOPIC_AUTHORIZATION_FAILED.*Give the connector its rights on the topic/);
    // Of all that the transaction wrote to, the one that was refused.
    assert.deepEqual(failure.err.fields.topics, [`${prefix}.${barred}`]);
    await goesOn(kept);
    assert.equal(seen('sourceFailed').length, 1);
  });

  await t.test(
    'topics that we may not create, or not describe, stop their sources at the start; the others run',
    async (t) => {
      const prefix = uniquePrefix('tls');
      await allow(kafka, PRINCIPAL, prefix);
      const [kept = '', uncreated = '', undescribed = ''] = namesOnOnePartition(3);
      await deny(kafka, PRINCIPAL, `${prefix}.${uncreated}`, DENIED.create);
      await deny(kafka, PRINCIPAL, `${prefix}.${undescribed}`, DENIED.describeConfigs);
      const { seen, goesOn, failures } = await start(t, prefix, [kept, uncreated, undescribed]);
      await goesOn(kept);
      const failed = await failures(2);
      assert.deepEqual(
        new Map(failed.map(({ source, err }) => [source, err.code])),
        new Map([
          [uncreated, 'TOPIC_NOT_CREATED'],
          [undescribed, 'TOPIC_REFUSED'],
        ]),
      );
      for (const { source, err } of failed) {
        assert.match(err.message, new RegExp(`topic ${prefix}\\.${source} .*TOPIC_AUTHORIZATION_FAILED`));
      }
      await goesOn(kept);
      assert.equal(seen('sourceFailed').length, 2);
    },
  );

  await t.test('a transactional id that is refused stops its sources once, and the text has the rule', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const [barred = ''] = namesOnOnePartition(1);
    const partition = offsetPartition(offsetKey(barred, 'events'));
    const id = `${prefix}-sources-${partition}`;
    const kept = 'elsewhere';
    assert.notEqual(offsetPartition(offsetKey(kept, 'events')), partition);
    await deny(kafka, PRINCIPAL, id, DENIED.writeAs);
    const { seen, goesOn, failures } = await start(t, prefix, [kept, barred]);
    const [failure] = await failures(1);
    assert.deepEqual([failure.source, failure.err.code], [barred, 'WRITER_REFUSED']);
    assert.match(failure.err.message, /TRANSACTIONAL_ID_AUTHORIZATION_FAILED/);
    assert.ok(failure.err.message.includes(`--operation Write --transactional-id ${id}`), failure.err.message);
    await goesOn(kept);
    await goesOn(kept);
    assert.equal(seen('sourceFailed').length, 1);
  });

  await t.test('a group of replicas that is refused stops every source once, and the text has the rule', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const group = `${prefix}-sources`;
    await deny(kafka, PRINCIPAL, group, DENIED.join);
    const names = ['one', 'two'];
    const { seen, ended } = await start(t, prefix, names);
    // Not tried again: with nothing left to run, and no operator who could help, it ends.
    assert.deepEqual((await ended).toSorted(), names);
    const failed = seen('sourceFailed');
    assert.deepEqual(failed.map(({ source }) => source).toSorted(), names);
    for (const { err } of failed) {
      assert.equal(err.code, 'WRITER_REFUSED');
      assert.match(err.message, /GROUP_AUTHORIZATION_FAILED/);
      assert.ok(err.message.includes(`--operation Read --group ${group}`), err.message);
    }
  });
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const REGISTRY_NOT_USED = 'http://127.0.0.1:1';
/** One broker for all, as its start takes longest. */
async function sceneOrSkip(t: TestContext): Promise<SecuredScene | undefined> {
  const kafka = await securedKafkaOrSkip(t);
  if (!kafka) return undefined;
  const simulator = await createSimulator({ instruments: 20, port: 0 });
  t.after(() => simulator.close());
  return { kafka, simulator };
}

function connectorAt(
  t: TestContext,
  { simulator }: SecuredScene,
  broker: string,
  kafka: string,
  prefix = uniquePrefix('tls'),
) {
  const stack = { brokers: [broker], registryUrl: REGISTRY_NOT_USED };
  const overrides = { registry: createMemoryRegistry() };
  return startConnector(t, { stack, simulator, prefix, kafka, overrides });
}

/** A start that is tried again and again, with the reason reported; a slow broker may first be reported as one that does not answer. */
async function refused(t: TestContext, at: SecuredScene, broker: string, kafka: string, why: RegExp): Promise<void> {
  const connector = await connectorAt(t, at, broker, kafka);
  const failures = () => connector.fieldsOf('attemptFailed').map(({ err }) => `${err.code}: ${err.message}`);
  const reported = await eventually(`${why} is reported`, failures, (texts) => texts.some((text) => why.test(text)));
  for (const text of reported) assert.match(text, /^KAFKA_UNREACHABLE: /);
  assert.deepEqual(connector.fieldsOf('topicCreated'), []);
  await connector.stop();
  assert.ok(!JSON.stringify(connector.seen).includes(PASSWORD));
}

test('Kafka with TLS and logins', async (t) => {
  const at = await sceneOrSkip(t);
  if (!at) return;
  await t.test(
    'a whole list goes onto Kafka through TLS, mutual TLS, PLAIN and SCRAM, with the rights of the README and no others',
    async (t) => {
      const { kafka } = at;
      const { ca, cert, key } = kafka.files;
      const login = (mechanism: string) =>
        `, ssl: { ca: "${ca}" }, sasl: { mechanism: ${mechanism}, username: ${USER}, password: ${PASSWORD} }`;
      const ways = [
        { broker: kafka.at.TLS, more: `, ssl: { ca: "${ca}" }`, principal: null },
        {
          broker: kafka.at.MUTUAL,
          more: `, ssl: { ca: "${ca}", cert: "${cert}", key: "${key}" }`,
          principal: 'User:CN=client',
        },
        { broker: kafka.at.LOGIN, more: login('plain'), principal: `User:${USER}` },
        { broker: kafka.at.LOGIN, more: login('scram-sha-256'), principal: `User:${USER}` },
        { broker: kafka.at.LOGIN, more: login('scram-sha-512'), principal: `User:${USER}` },
        // Without TLS, as these brokers are on this machine.
        {
          broker: kafka.at.CLEAR,
          more: login('scram-sha-512').replace(/ ssl: \{.*?\},/, ''),
          principal: `User:${USER}`,
        },
      ];
      for (const { broker, more, principal } of ways) {
        const prefix = uniquePrefix('tls');
        if (principal !== null) await allow(kafka, principal, prefix);
        const connector = await connectorAt(t, at, broker, more, prefix);
        const { fields } = await connector.event('walkCompleted');
        assert.equal(fields.added, 20, more);
        assert.deepEqual(await connector.stop(), []);
      }
      // The rights are those of one prefix: with another, and as another user, nothing is created.
      const stranger = login('plain').replace(USER, 'stranger').replace(PASSWORD, 'x');
      for (const more of [login('plain'), stranger]) {
        const connector = await connectorAt(t, at, kafka.at.LOGIN, more);
        await assert.rejects(connector.ended, { code: 'TOPIC_NOT_CREATED', message: /TOPIC_AUTHORIZATION_FAILED/ });
      }
    },
  );

  await t.test(
    'a broker whose certificate is not to be trusted, and one that refuses us, get no records',
    async (t) => {
      const { kafka } = at;
      const tls = `, ssl: { ca: "${kafka.files.ca}" }`;
      await refused(t, at, kafka.at.OTHERHOST, tls, /does not match certificate's altnames/);
      await refused(t, at, kafka.at.EXPIRED, tls, /certificate has expired/);
      await refused(t, at, kafka.at.SELFSIGNED, tls, /self-signed certificate/);
      await refused(t, at, kafka.at.TLS, ', ssl: true', /self-signed certificate|unable to (get|verify)/);
      await refused(t, at, kafka.at.MUTUAL, tls, /alert certificate required/);
      const wrong = `${tls}, sasl: { mechanism: scram-sha-512, username: ${USER}, password: "not the password" }`;
      await refused(t, at, kafka.at.LOGIN, wrong, /[Aa]uthentication failed/);
    },
  );

  await t.test('what one account may not do stops what needs it, and nothing else', (t) => checkRights(t, at));

  await t.test('a password of Kafka that is rotated in its file is used for the next connections', async (t) => {
    const { kafka } = at;
    const file = `${kafka.files.ca}.password`;
    await writeFile(file, `${PASSWORD}\n`);
    const prefix = uniquePrefix('tls');
    await allow(kafka, `User:${USER}`, prefix);
    const settings = await loadSettings({
      text: `
prefix: ${prefix}
referenceData: { url: https://provider.example, auth: { type: none } }
schemaRegistry: { url: ${REGISTRY_NOT_USED} }
kafka:
  brokers: ${kafka.at.LOGIN}
  ssl: { ca: "${kafka.files.ca}" }
  sasl: { mechanism: scram-sha-512, username: ${USER}, passwordFile: "${file}" }`,
      env: {},
    });
    const cluster = await createKafkaCluster(settings, { clock: systemClock, random: Math.random, log: silent });
    t.after(() => cluster.close());
    const open = async (id: string) => {
      const writer = cluster.transactionalWriter(`${prefix}-${id}`);
      await writer.open(async () => null, AbortSignal.timeout(600_000));
      await writer.close();
    };
    await open('before');

    await setScramPassword({ open: kafka.open, login: kafka.at.CLEAR }, USER, 'the next password');
    await writeFile(`${file}.new`, 'the next password\n');
    await rename(`${file}.new`, file);
    await open('rotated');
    await open('after');
  });

  await t.test(
    'certificates of Kafka that are replaced in their files are used for the next connections',
    async (t) => {
      const { kafka } = at;
      const own = { ca: `${kafka.files.ca}.ca`, cert: `${kafka.files.ca}.cert`, key: `${kafka.files.ca}.key` };
      const use = async (client: { readonly cert: string; readonly key: string }) => {
        await writeFile(own.cert, client.cert);
        await writeFile(own.key, client.key);
      };
      const trusted = { cert: await readFile(kafka.files.cert, 'utf8'), key: await readFile(kafka.files.key, 'utf8') };
      await use(trusted);
      const authority = await readFile(kafka.files.ca, 'utf8');
      await writeFile(own.ca, authority);
      const settings = await loadSettings({
        text: `
prefix: ${uniquePrefix('tls')}
referenceData: { url: https://provider.example, auth: { type: none } }
schemaRegistry: { url: ${REGISTRY_NOT_USED} }
kafka: { brokers: "${kafka.at.MUTUAL}", ssl: { ca: "${own.ca}", cert: "${own.cert}", key: "${own.key}" } }`,
        env: {},
      });
      const warnings: string[] = [];
      const log = { ...silent, warn: (_: unknown, message: string) => void warnings.push(message) };
      const cluster = await createKafkaCluster(settings, { clock: systemClock, random: Math.random, log });
      t.after(() => cluster.close());
      // Each call opens a connection of its own.
      const connect = () =>
        cluster.clusterId().then(
          () => 'accepted',
          (error: Error) => error.message,
        );
      assert.equal(await connect(), 'accepted');
      await use(makeCertificates().client);
      const isRefused = (how: string) => how !== 'accepted';
      await eventually('the new certificate is used, which is not trusted', connect, isRefused);
      await use({ ...trusted, key: 'in the middle of a rotation' });
      const isReported = () => warnings.some((text) => /cannot be used/.test(text));
      await eventually('the files are reported', connect, isReported);
      await use(trusted);
      await eventually('the trusted one is used again', connect, (how) => how === 'accepted');
      await writeFile(own.ca, makeCertificates().ca);
      await eventually('an authority that is no longer trusted counts', connect, isRefused);
      await writeFile(own.ca, authority);
      await eventually('the broker is trusted again', connect, (how) => how === 'accepted');
    },
  );
});

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
    const told = failures.map((event) => JSON.stringify(event)).filter((text) => /token|SASL/i.test(text));
    assert.deepEqual(told, []);
  });

  await t.test('a token that the brokers refuse is reported with what it says and what to do', async () => {
    const cases = [
      [
        client(simulator, 'another'),
        /^The login at Kafka \(127\.0\.0\.1:\d+\) failed\. The broker \S+ refuses the token of kafka\.sasl \(invalid_token\)\. It has issuer "https:\/\/simulator\.example", audience "another", subject "simulated-client", .*it expires in \d s\. Compare the token with the settings of the brokers \(sasl\.oauthbearer\.expected\.audience/,
      ],
      [`token: not-a-jwt`, /refuses the token of kafka\.sasl .*The token is not a JWT/],
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
