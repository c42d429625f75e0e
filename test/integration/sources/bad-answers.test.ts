import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Fault } from '../../../src/dev/simulator/faults/fault.ts';
import { type Installation, testInstallation } from '../../support/connectors/installation.ts';
import { memoryScene } from '../../support/connectors/memory-scene.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';

/** The probe that asks for the stream's start is request 1 of the list; pages follow. */
const SECOND_PAGE = 3;

/** The keys on the topic, once the connector has stopped. */
async function keys({ kafka, prefix, read }: Installation): Promise<string[]> {
  await fenceSource(kafka, prefix);
  return (await read('instruments')).map(({ key }) => String(key));
}

const instruments = (count: number) => ({ simulator: { instruments: count, seed: 3 } });

const poison = (row: number, edit: { pointer: string; value?: string }): Fault => ({
  kind: 'poison',
  rows: [row],
  how: { edit: [edit] },
});

testInstallation(
  'four bad rows of a thousand become four dead letters and 996 records',
  instruments(1_000),
  async (_t, scene) => {
    const { simulator, read } = scene;
    const faults: Fault[] = [
      poison(10, { pointer: '/issuePrice', value: '"a hundred"' }),
      poison(20, { pointer: '/denomination', value: '1234567890123456789012345' }),
      poison(30, { pointer: '/id' }),
      { kind: 'poison', rows: [40], how: { extraBytes: 5_000_000 } },
    ];
    simulator.injectFaults(faults.map((fault) => ({ match: 'instruments', nth: 2, fault })));
    const connector = await scene.start({ source: { limit: 1_000 } });
    const walk = await connector.event('walkCompleted');
    assert.equal(walk.fields.rows, 1_000);
    assert.equal(walk.fields.deadLetters, 4);
    await connector.stop();
    assert.equal(new Set(await keys(scene)).size, 996);

    const letters = await read('dead-letters');
    const found = letters.map(({ headers }) => [headers['spc-pointer'], headers['__connect.errors.exception.message']]);
    const pointers = found.map(([pointer]) => pointer);
    assert.deepEqual(pointers, ['/issuePrice', '/denomination', '/id', '']);
    for (const [, reason] of found) assert.ok(reason && reason.length > 10 && !reason.includes('a hundred'), reason);
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
    const letterKeys = letters.map(({ key }) => (key === null ? null : String(key)));
    assert.deepEqual(letterKeys, [ids[10], ids[20], null, ids[40]]);

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
  },
);

const UMLAUT = 0xfc;
/** Row and text to be found in it; one byte takes its place, an ü of Latin-1. */
const marked = (row: number): Fault[] => [
  poison(row, { pointer: '/name', value: '"Z§rich"' }),
  { kind: 'byte', text: '§', byte: UMLAUT },
];
const deep = (row: number) => poison(row, { pointer: '/note', value: `${'['.repeat(62)}1${']'.repeat(62)}` });
const long = (row: number): Fault => ({ kind: 'poison', rows: [row], how: { extraBytes: 600_000 } });

testInstallation(
  'a byte, a depth and a length that cannot be read cost their row alone',
  instruments(1_000),
  async (_t, scene) => {
    const { simulator, prefix, read } = scene;
    const faults = [...marked(10), deep(20), long(30)];
    simulator.injectFaults(faults.map((fault) => ({ match: 'instruments', nth: 2, fault })));
    const connector = await scene.start({ source: { limit: 1_000 } });
    const walk = await connector.event('walkCompleted');
    assert.deepEqual([walk.fields.rows, walk.fields.deadLetters], [1_000, 3]);
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);

    // Then the same in one answer of the stream, between events that arrive.
    const eventFaults = [...marked(1), deep(2), long(3)];
    simulator.injectFaults(eventFaults.map((fault) => ({ match: 'events', count: 0, fault })));
    const offsets = ids.slice(100, 105).map((id) => simulator.publish({ kind: 'datachange', id }).offset);
    const isLast = ({ since }: { since: string }) => since === offsets[4];
    await connector.until('the last event is committed', () => connector.fieldsOf('streamCommitted').some(isLast));
    await connector.stop();
    const written = await keys(scene);
    assert.deepEqual([written.length, new Set(written).size], [999, 997]);

    const letters = await read('dead-letters');
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
  },
);

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
  test(`${what}: nothing of the page is written, the error says so, and the page is asked for again`, async (t) => {
    const { simulator, start, read } = await memoryScene(t, { instruments: 300, seed: 3 });
    simulator.injectFaults([{ match: 'instruments', nth: SECOND_PAGE, fault }]);
    const connector = await start({ limit: 100 });
    const walk = await connector.event('walkCompleted');
    await connector.stop();
    const { err } = connector.fieldsOf('attemptFailed')[0];
    assert.equal(err.code, code);
    assert.match(err.message, says);
    assert.match(err.message, FROM_WHERE);
    assert.deepEqual([walk.fields.pages, walk.fields.rows, walk.fields.deadLetters], [3, 300, 0]);
    const written = (await read('instruments')).map(({ key }) => String(key));
    assert.deepEqual([written.length, new Set(written).size], [300, 300]);
  });
}

testInstallation(
  'one cursor that repeats itself and one that falls each end their walk, not the source',
  instruments(1_200),
  async (_t, scene) => {
    const faults: Fault[] = [
      { kind: 'links', how: 'same' },
      { kind: 'links', how: 'lower' },
    ];
    // The second walk has its first page after the one that loops.
    scene.simulator.injectFaults(
      faults.map((fault, walk) => ({ match: 'instruments', nth: SECOND_PAGE + 2 * walk, fault })),
    );
    const connector = await scene.start({ source: { limit: 400 } });
    const completed = await connector.event('walkCompleted');
    assert.deepEqual([completed.fields.walk, completed.fields.rows], [3, 1_200]);
    const reported = connector.fieldsOf('notified').map(({ kind }) => kind);
    assert.deepEqual(reported, ['walkGivenUp', 'walkGivenUp']);
    // The stream was followed between the walks, and a row that the first one wrote is not written again.
    const kinds = connector.fieldsOf('polled').map(({ endpoint }) => endpoint);
    assert.ok(kinds.lastIndexOf('events') > kinds.indexOf('instruments'));
    const written = await keys(scene);
    assert.deepEqual([written.length, new Set(written).size], [1_200, 1_200]);
  },
);

testInstallation(
  'a tenth of the rows not mapping stops the source with nothing of that page written',
  instruments(1_200),
  async (_t, scene) => {
    const fault: Fault = { kind: 'poison', share: 0.1, how: { edit: [{ pointer: '/issuePrice', value: '"1"' }] } };
    scene.simulator.injectFaults([{ match: 'instruments', nth: SECOND_PAGE, fault }]);
    const connector = await scene.start({ source: { limit: 400 } });
    const failure = await connector.event('sourceFailed');
    assert.equal(failure.fields.err.code, 'TOO_MANY_DEAD_LETTERS');
    assert.match(failure.fields.err.message, /of 400 rows of \/v1\/instruments\?minId=\d+ do not map.*\/issuePrice/);
    assert.deepEqual(await connector.ended, ['instruments']);
    assert.equal((await keys(scene)).length, 400);
    assert.equal((await scene.read('dead-letters')).length, 0);
    const asked = scene.simulator.requests.count('instruments');
    assert.ok(asked <= SECOND_PAGE + 2, `${asked} requests`);
  },
);
