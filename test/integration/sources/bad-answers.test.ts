import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Fault } from '../../../src/dev/simulator/faults/fault.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import type { RecordedEvent } from '../../support/ledgers/recorded-events.ts';
import { eventually } from '../../support/runner/eventually.ts';

const PARTITIONS = [0, 1, 2, 3, 4, 5];
/** The probe that asks for the stream's start is request 1 of the list; pages follow. */
const SECOND_PAGE = 3;

interface Scene {
  readonly simulator: Simulator;
  readonly kafka: KafkaCluster;
  readonly prefix: string;
  start(limit: number): Promise<RunningConnector>;
  /** The keys on the topic, once the connector has stopped. */
  keys(): Promise<string[]>;
}

/** A provider with some instruments and these faults, and a place on the real broker. */
function scene(title: string, instruments: number, body: (t: TestContext, scene: Scene) => Promise<void>): void {
  test(title, { timeout: 1_200_000 }, async (t) => {
    const stack = await stackOrSkip(t);
    const kafka = (await kafkaOrSkip(t))?.connect();
    if (!stack || !kafka) return;
    const prefix = uniquePrefix('bad');
    const simulator = await createSimulator({ instruments, seed: 3, port: 0 });
    t.after(() => simulator.close());
    await body(t, {
      simulator,
      kafka,
      prefix,
      start: (limit) => startConnector(t, { stack, simulator, prefix, source: { limit } }),
      async keys() {
        await fenceSource(kafka, prefix);
        const records = await readCommitted(kafka, `${prefix}.instruments`, PARTITIONS);
        return records.map((record) => String(record.key));
      },
    });
  });
}

const poison = (row: number, edit: { pointer: string; value?: string }): Fault => ({
  kind: 'poison',
  rows: [row],
  how: { edit: [edit] },
});

scene('four bad rows of a thousand become four dead letters and 996 records', 1_000, async (_t, scene) => {
  const { simulator, kafka, prefix } = scene;
  const faults: Fault[] = [
    poison(10, { pointer: '/issuePrice', value: '"a hundred"' }),
    poison(20, { pointer: '/denomination', value: '1234567890123456789012345' }),
    poison(30, { pointer: '/id' }),
    { kind: 'poison', rows: [40], how: { extraBytes: 5_000_000 } },
  ];
  simulator.injectFaults(faults.map((fault) => ({ match: 'instruments', nth: 2, fault })));
  const connector = await scene.start(1_000);
  const walk = await connector.event('walkCompleted');
  assert.equal(walk.fields.rows, 1_000);
  assert.equal(walk.fields.deadLetters, 4);
  await connector.stop();
  assert.equal(new Set(await scene.keys()).size, 996);

  const letters = await readCommitted(kafka, `${prefix}.dead-letters`);
  const found = letters.map(({ headers }) => [headers['spc-pointer'], headers['__connect.errors.exception.message']]);
  assert.deepEqual(
    found.map(([pointer]) => pointer),
    ['/issuePrice', '/denomination', '/id', ''],
  );
  for (const [, reason] of found) assert.ok(reason && reason.length > 10 && !reason.includes('a hundred'), reason);
  const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
  assert.deepEqual(
    letters.map(({ key }) => (key === null ? null : String(key))),
    [ids[10], ids[20], null, ids[40]],
  );

  const [wrongType, , , huge] = letters;
  const sent = [...simulator.ledger.instruments()][10]?.text ?? '';
  assert.equal(String(wrongType?.value), sent.replace(/"issuePrice":[^,]+/, '"issuePrice":"a hundred"'));
  assert.equal(
    wrongType?.headers['spc-sha256'],
    createHash('sha256')
      .update(wrongType?.value ?? '')
      .digest('hex'),
  );
  assert.equal(huge?.value?.length, 256 * 1024);
  assert.ok(Number(huge?.headers['spc-length']) > 5_000_000);
});

const UMLAUT = 0xfc;
/** Row and text to be found in it; one byte takes its place, an ü of Latin-1. */
const marked = (row: number): Fault[] => [
  poison(row, { pointer: '/name', value: '"Z§rich"' }),
  { kind: 'byte', text: '§', byte: UMLAUT },
];
const deep = (row: number) => poison(row, { pointer: '/note', value: `${'['.repeat(62)}1${']'.repeat(62)}` });
const long = (row: number): Fault => ({ kind: 'poison', rows: [row], how: { extraBytes: 600_000 } });

scene('a byte, a depth and a length that cannot be read cost their row alone', 1_000, async (_t, scene) => {
  const { simulator, kafka, prefix } = scene;
  const faults = [...marked(10), deep(20), long(30)];
  simulator.injectFaults(faults.map((fault) => ({ match: 'instruments', nth: 2, fault })));
  const connector = await scene.start(1_000);
  const walk = await connector.event('walkCompleted');
  assert.deepEqual([walk.fields.rows, walk.fields.deadLetters], [1_000, 3]);
  const ids = [...simulator.ledger.instruments()].map(({ id }) => id);

  // Then the same in one answer of the stream, between events that arrive.
  const eventFaults = [...marked(1), deep(2), long(3)];
  simulator.injectFaults(eventFaults.map((fault) => ({ match: 'events', count: 0, fault })));
  const offsets = ids.slice(100, 105).map((id) => simulator.publish({ kind: 'datachange', id }).offset);
  const isLast = ({ name, fields }: RecordedEvent) => name === 'streamCommitted' && fields.since === offsets[4];
  await eventually('the last event is committed', () => connector.seen.some(isLast), Boolean, 180_000);
  await connector.stop();
  const keys = await scene.keys();
  assert.deepEqual([keys.length, new Set(keys).size], [999, 997]);

  const letters = await readCommitted(kafka, `${prefix}.dead-letters`);
  assert.deepEqual(
    letters.map(({ key, headers }) => [
      String(key),
      headers['__connect.errors.topic']?.replace(`${prefix}.`, ''),
      headers['__connect.errors.exception.message']?.replace(/\d{6,}/g, 'N'),
    ]),
    [
      [ids[10], 'instruments', 'a byte that is not UTF-8'],
      [ids[20], 'instruments', 'nesting deeper than 64'],
      [ids[30], 'instruments', 'a row of N bytes; at most N are read'],
      [ids[101], 'instrument-events', 'a byte that is not UTF-8'],
      [ids[102], 'instrument-events', 'nesting deeper than 64'],
      [ids[103], 'instrument-events', 'a row of N bytes; at most N are read'],
    ],
  );
  assert.ok(letters[0]?.value?.includes(Buffer.from('"name":"Z\xfcrich"', 'latin1')), 'the bytes as they came');
});

/** Whatever is wrong with an answer, the message says which request it answered. */
const FROM_WHERE = /GET http:[^ ]+\/v1\/instruments of referenceData/;

const passing: Record<string, { fault: Fault; code: string; says: RegExp }> = {
  'malformed JSON': {
    fault: { kind: 'body', body: '{"instruments":[{"id":1,,}]}' },
    code: 'BODY_MALFORMED',
    says: /byte \d+/,
  },
  'JSON that ends early': { fault: { kind: 'cutJson' }, code: 'BODY_MALFORMED', says: /end/ },
  'a body cut by the connection': {
    fault: { kind: 'truncate', how: 'contentLength' },
    code: 'BODY_INCOMPLETE',
    says: /cut after \d+ bytes/,
  },
  'a reset in the middle': {
    fault: { kind: 'reset', share: 0.5 },
    code: 'BODY_INCOMPLETE',
    says: /cut after \d+ bytes/,
  },
  'HTML with status 200': {
    fault: { kind: 'body', body: '<html>maintenance</html>', contentType: 'text/html' },
    code: 'PROTOCOL_VIOLATION',
    says: /text\/html/,
  },
  'no links': { fault: { kind: 'links', how: 'missing' }, code: 'PROTOCOL_VIOLATION', says: /links/ },
  'a link to another origin': {
    fault: { kind: 'links', how: 'url', url: 'https://evil.example/v1/instruments?minId=1' },
    code: 'PROTOCOL_VIOLATION',
    says: /evil\.example/,
  },
  'no list of instruments': {
    fault: { kind: 'body', body: '{"links":{"next":null}}' },
    code: 'BODY_MALFORMED',
    says: /"instruments"/,
  },
  'a status 503': { fault: { kind: 'status', status: 503 }, code: 'PROVIDER_BUSY', says: /503/ },
};

for (const [what, { fault, code, says }] of Object.entries(passing)) {
  scene(
    `${what}: nothing of the page is written, the error says so, and the page is asked for again`,
    300,
    async (_t, scene) => {
      scene.simulator.injectFaults([{ match: 'instruments', nth: SECOND_PAGE, fault }]);
      const connector = await scene.start(100);
      const walk = await connector.event('walkCompleted');
      // Of the source: a Kafka that starts slowly is tried again too, and is none of this.
      const isOurs = ({ name, fields }: RecordedEvent) => name === 'attemptFailed' && fields.source === 'instruments';
      const failure = connector.seen.find(isOurs);
      assert.equal(failure?.fields.err.code, code);
      assert.match(failure.fields.err.message, says);
      assert.match(failure.fields.err.message, FROM_WHERE);
      assert.deepEqual([walk.fields.pages, walk.fields.rows, walk.fields.deadLetters], [3, 300, 0]);
      await connector.stop();
      const keys = await scene.keys();
      assert.equal(keys.length, 300);
      assert.equal(new Set(keys).size, 300);
    },
  );
}

scene(
  'one cursor that repeats itself and one that falls each end their walk, not the source',
  1_200,
  async (_t, scene) => {
    const faults: Fault[] = [
      { kind: 'links', how: 'same' },
      { kind: 'links', how: 'lower' },
    ];
    // The second walk has its first page after the one that loops.
    scene.simulator.injectFaults(
      faults.map((fault, walk) => ({ match: 'instruments', nth: SECOND_PAGE + 2 * walk, fault })),
    );
    const connector = await scene.start(400);
    const completed = await connector.event('walkCompleted');
    assert.deepEqual([completed.fields.walk, completed.fields.rows], [3, 1_200]);
    const reported = connector.seen.filter(({ name }) => name === 'notified').map(({ fields }) => fields.kind);
    assert.deepEqual(reported, ['walkGivenUp', 'walkGivenUp']);
    // The stream was followed between the walks, and a row that the first one wrote is not written again.
    const kinds = connector.seen.filter(({ name }) => name === 'polled').map(({ fields }) => fields.endpoint);
    assert.ok(kinds.lastIndexOf('events') > kinds.indexOf('instruments'));
    const keys = await scene.keys();
    assert.deepEqual([keys.length, new Set(keys.map(String)).size], [1_200, 1_200]);
  },
);

scene(
  'a tenth of the rows not mapping stops the source with nothing of that page written',
  1_200,
  async (_t, scene) => {
    const fault: Fault = { kind: 'poison', share: 0.1, how: { edit: [{ pointer: '/issuePrice', value: '"1"' }] } };
    scene.simulator.injectFaults([{ match: 'instruments', nth: SECOND_PAGE, fault }]);
    const connector = await scene.start(400);
    const failure = await connector.event('sourceFailed');
    assert.equal(failure.fields.err.code, 'TOO_MANY_DEAD_LETTERS');
    assert.match(failure.fields.err.message, /of 400 rows of \/v1\/instruments\?minId=\d+ do not map.*\/issuePrice/);
    assert.deepEqual(await connector.ended, ['instruments']);
    assert.equal((await scene.keys()).length, 400);
    assert.equal((await readCommitted(scene.kafka, `${scene.prefix}.dead-letters`)).length, 0);
    const asked = scene.simulator.requests.count('instruments');
    assert.ok(asked <= SECOND_PAGE + 2, `${asked} requests`);
  },
);
