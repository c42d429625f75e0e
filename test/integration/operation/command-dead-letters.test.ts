import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { installation, testInstallation } from '../../support/connectors/installation.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { eventually } from '../../support/runner/eventually.ts';

// Of a wrong type and with what clears a terminal.
const edit = [{ pointer: '/issuePrice', value: '"1\\u001b[2J"' }];
const POISON = { kind: 'poison' as const, rows: [2, 4], how: { edit } };
/** The retry may be asked for with other settings than those under which the input failed. */
const MAPPING = `mapping: { onMismatch: "\${ON_MISMATCH:-deadLetter}" }`;
const KEEP = { ON_MISMATCH: 'keepInExtras' };

testInstallation(
  'dead letters are listed, shown and written once they map, each only once, in any order',
  {
    simulator: { instruments: 10, faults: [{ match: 'instruments', count: 0, fault: POISON }] },
    more: MAPPING,
  },
  async (_t, scene) => {
    const { simulator, kafka, prefix } = scene;
    const [, , first, , second] = [...simulator.ledger.instruments()].map(({ id }) => String(id));
    assert.ok(first && second);
    const instruments = () => scene.read('instruments');
    const connector = await scene.start();
    await connector.event('walkCompleted');
    // The second gets a newer version by an event, and an event that does not map comes too.
    simulator.publish({ kind: 'datachange', id: second });
    const envelope = `{"event":{"type":"datachange"},"instrument":{"id":${first},"issuePrice":"no"}}`;
    simulator.publish({ kind: 'event', id: first, type: 'datachange', envelope });
    await eventually(
      'three dead letters',
      () => scene.read('dead-letters'),
      (all) => all.length === 3,
    );
    await connector.stop();
    await fenceSource(kafka, prefix);

    const listed = JSON.parse((await scene.spconnect('dead-letters list --output json')).stdout);
    const ids = listed.map(({ id }: { id: string }) => id);
    assert.deepEqual(
      listed.map(({ key, pointer, source, topic }: Record<string, string>) => [key, pointer, source, topic]),
      [
        [first, '/issuePrice', 'instruments', `${prefix}.instruments`],
        [second, '/issuePrice', 'instruments', `${prefix}.instruments`],
        [first, '/instrument/issuePrice', 'instruments', `${prefix}.instrument-events`],
      ],
    );
    const text = await scene.spconnect('dead-letters list --limit 1 --since 1h --source instruments');
    assert.match(
      text.stdout,
      new RegExp(
        `^id +written +source +key +topic +place +reason\n${ids[2]}  .* ${prefix}\\.instrument-events  /instrument/issuePrice  [^\n]+\n$`,
      ),
    );
    assert.match(text.stderr, /^The newest 1 of 3 \(instruments 3\); --limit shows others\.\n$/);
    const none = await scene.spconnect('dead-letters list --source other');
    assert.deepEqual(
      [none.code, none.stdout, none.stderr],
      [0, '', 'The settings enable no source with the name other.\nNo dead letter matches.\n'],
    );

    const shown = await scene.spconnect(`dead-letters show ${ids[0]}`);
    assert.match(shown.stdout, /^spc-pointer +\/issuePrice$/m);
    assert.match(shown.stdout, /"issuePrice":"1\\u001b\[2J"/);
    assert.doesNotMatch(shown.stdout, /[^\P{Cc}\n]/u);
    const unknown = await scene.spconnect('dead-letters show 4711');
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /^DEAD_LETTER_UNKNOWN: There is no dead letter "4711"/);

    // The newest first: the last one named must not be the state that stays.
    const all = `dead-letters retry ${ids.toReversed().join(' ')}`;
    const stillBad = await scene.spconnect(`${all} --execute --output json`);
    assert.equal(stillBad.code, 1);
    const outcomes = (stdout: string) => JSON.parse(stdout).map(({ outcome }: { outcome: string }) => outcome);
    assert.deepEqual(outcomes(stillBad.stdout), ['impossible', 'walk', 'walk']);
    assert.match(stillBad.stderr, /set mapping\.onMismatch: keepInExtras, and retry/);
    const unwritten = await scene.spconnect(all);
    const [requested = '', ...advice] = stillBad.stderr.split('\n');
    assert.match(requested, /^Requested a walk of instruments\. A running source begins the walk/);
    const nothing = 'Nothing was written; --execute makes the change.';
    assert.deepEqual([unwritten.code, unwritten.stderr], [1, [nothing, ...advice].join('\n')]);
    const before = (await instruments()).length;
    const dry = await scene.spconnect(`${all} --output json`, KEEP);
    assert.deepEqual(outcomes(dry.stdout), ['toWrite', 'walk', 'walk']);

    // A price is requested again without any retry.
    const writer = kafka.transactionalWriter('processor');
    await writer.open(async () => {}, AbortSignal.timeout(600_000));
    const ofPrices = { '__connect.errors.connector.name': 'prices' };
    const letter = (more: object) =>
      keyedRecord({ name: `${prefix}.dead-letters`, partitions: 1 }, first, Buffer.from('1'), { ...ofPrices, ...more });
    await writer.commit({ records: [letter({ 'spc-problem': 'status 404' }), letter({})] });
    const [price, unreadable] = JSON.parse(
      (await scene.spconnect('dead-letters list --source prices --output json')).stdout,
    );
    const notNeeded = await scene.spconnect(`dead-letters retry ${price.id} --execute`);
    assert.deepEqual([notNeeded.code, notNeeded.stderr], [0, '']);
    assert.match(notNeeded.stdout, new RegExp(`^${price.id}  not needed  needs no retry`));
    const impossible = await scene.spconnect(`dead-letters retry ${unreadable.id}`);
    assert.equal(impossible.code, 1);
    assert.match(impossible.stdout, /impossible +its record on the instruments topic cannot be read/);

    // By two operators at once: what one has written, the other finds written.
    const both = await Promise.all([1, 2].map(() => scene.spconnect(`${all} --execute --output json`, KEEP)));
    const events = () => scene.read('instrument-events');
    const retried = ({ headers }: { headers: Record<string, string> }) => headers['spc-dead-letter'] === ids[2];
    const [event] = await eventually(
      'the event',
      async () => (await events()).filter(retried),
      ({ length }) => length > 0,
    );
    assert.deepEqual([String(event?.key), event?.headers['spc-source']], [first, 'instruments']);
    for (const { code, stderr } of both) assert.equal(code, 0, stderr);
    assert.deepEqual(both.map(({ stdout }) => outcomes(stdout)[0]).sort(), ['superseded', 'written']);
    assert.equal((await instruments()).length, before, 'instruments are left to the walk');

    const again = await scene.start({ env: KEEP });
    await again.event('walkCompleted');
    const newest = (await instruments()).findLast(({ key }) => String(key) === first);
    assert.equal(newest?.headers['spc-walk'], '2', 'a walk has brought its newest state');
    assert.equal((await events()).filter(retried).length, 1);
  },
);

test('those of pre-trade checks have no input, and are retried by asking the provider for the check', async (t) => {
  const source = { name: 'checks', type: 'pre-trade-checks' };
  const scene = await installation(t, { simulator: { instruments: 3 }, source, more: MAPPING });
  if (!scene) return;
  const { simulator, kafka, prefix } = scene;
  const [instrument] = [...simulator.ledger.instruments()];
  const canary = 'https://trading.example/?ticket=canary-1';
  const wrongUrl = `{"preTradeCheckId":"{id}","simulationUrl":["${canary}"]}`;
  const [checkId, newerId = ''] = [wrongUrl, wrongUrl].map((text) =>
    simulator.triggerCheck(String(instrument?.id), text),
  );
  simulator.triggerCheck(String(instrument?.id), `{"simulationUrl":["${canary}"]}`);
  const connector = await scene.start();
  const [letter, overtaken, nameless] = await eventually(
    'three dead letters',
    () => scene.read('dead-letters').catch(() => []),
    (all) => all.length === 3,
  );
  await connector.stop();

  const [id, other] = [String(letter?.offset), String(nameless?.offset)];
  const shown = await scene.spconnect(`dead-letters show ${id}`);
  assert.match(shown.stdout, /This dead letter has no input\.\n$/);
  const retry = `dead-letters retry ${id} ${other}`;
  const stillBad = await scene.spconnect(`${retry} --execute`);
  assert.equal(stillBad.code, 1);
  assert.match(stillBad.stdout, new RegExp(`^${id}  impossible  The check cannot be mapped at /simulationUrl: `, 'm'));
  assert.match(stillBad.stdout, new RegExp(`^${other}  impossible  its id could not be read`, 'm'));

  const planned = await scene.spconnect(retry, KEEP);
  assert.match(planned.stdout, new RegExp(`^${id}  to be written  ${prefix}.pre-trade-checks$`, 'm'));
  const checks = () => scene.read('pre-trade-checks');
  assert.equal((await checks()).length, 0, 'a plan writes nothing');
  const written = await scene.spconnect(`dead-letters retry ${id} --execute`, KEEP);
  assert.deepEqual([written.code, written.stdout], [0, `${id}  written  ${prefix}.pre-trade-checks\n`]);
  const again = await scene.spconnect(`dead-letters retry ${id} --execute`, KEEP);
  assert.match(again.stdout, new RegExp(`^${id}  superseded  the topic already has this record`));
  const [check, ...more] = await checks();
  assert.deepEqual([String(check?.key), more.length], [checkId, 0]);

  const writer = kafka.transactionalWriter('other');
  await writer.open(async () => {}, t.signal);
  const newer = keyedRecord({ name: `${prefix}.pre-trade-checks`, partitions: 6 }, newerId, Buffer.from('newer'), {});
  await writer.commit({ records: [newer] });
  const older = await scene.spconnect(`dead-letters retry ${overtaken?.offset} --execute`, KEEP);
  assert.match(older.stdout, /superseded {2}the topic already has this record or a newer record\n$/);
  assert.equal(check?.headers['spc-dead-letter'], id);
  assert.equal(check?.headers['spc-endpoint'], '/v1/pretradechecks/id/{id}');
  const said = [shown, stillBad, planned, written, again].map(({ stdout, stderr }) => stdout + stderr).join('');
  assert.ok(!said.includes('canary'));
});
