import assert from 'node:assert/strict';
import { offsetKey } from '../../../src/kafka/offset-store.ts';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import { fenceOperators, fenceSource } from '../../support/ledgers/at-rest.ts';
import { eventually } from '../../support/runner/eventually.ts';

testInstallation(
  'a stream goes on where it was at a time, and repeats nothing from before',
  { source: { pollInterval: '100ms' } },
  async (_t, scene) => {
    const { simulator, kafka, prefix } = scene;
    const [instrument, quiet, third, fourth] = [...simulator.ledger.instruments()];
    const id = String(instrument?.id);
    const eventsOnTopic = () => scene.read('instrument-events');
    const happen = async (count: number) => {
      simulator.publish({ kind: 'datachange', id });
      return eventually(`${count} events`, eventsOnTopic, (records) => records.length === count);
    };
    const connector = await scene.start();
    await connector.event('walkCompleted');
    await happen(1);
    await happen(2);
    // The furthest offset belongs to no event, as most offsets do for a source with a filter.
    const happened = happen(3);
    const furthest = simulator.publish({ kind: 'hidden' }).offset;
    const written = await happened;
    await connector.stop();
    await fenceSource(kafka, prefix);
    await scene.spconnect('stop instruments');
    await fenceOperators(kafka, prefix);

    const second = written[1];
    const time = new Date(second?.timestampMs ?? 0).toISOString();
    const dry = await scene.spconnect(`offsets set instruments --to ${time}`);
    assert.equal(dry.code, 0, dry.stderr);
    assert.doesNotMatch(dry.stderr, /Before the requested/);
    assert.match(dry.stderr, /^Nothing was changed; --execute makes the change\. The source read from this offset at /);
    const [listed] = JSON.parse((await scene.spconnect('offsets list --output json')).stdout);

    const early = await scene.spconnect('offsets set instruments --to 1h');
    assert.match(early.stderr, /instrument-events has no earlier record of it; --since can go back further\./);

    const set = await scene.spconnect(`offsets set instruments --to ${time} --execute --output json`);
    assert.equal(set.code, 0, set.stderr);
    const { before, after } = JSON.parse(set.stdout);
    assert.deepEqual(before, listed.offset, 'the dry run wrote nothing');
    assert.equal(before.since, furthest);
    const { since, serverDate } = after;
    assert.equal(since, second?.headers['spc-since']);
    assert.equal(serverDate, second?.headers['spc-received']);
    // The provider's date has whole seconds: it may be the same one.
    const own = (name: string) => name !== 'serverDate' && !name.startsWith('walk');
    const moved = Object.keys(after).filter((name) => after[name] !== before[name] && own(name));
    assert.deepEqual(moved.sort(), ['againFrom', 'againUpTo', 'ownDate', 'since'], 'and the rest of the stream stays');
    assert.deepEqual([after.walk, after.walkPending, after.walkResumed], [before.walk + 1, true, true]);

    const newer = written[2]?.headers['spc-since'];
    const forward = await scene.spconnect(`offsets set instruments --since ${newer}`);
    assert.match(
      forward.stderr,
      new RegExp(`up to and including ${newer} were read before, and are not read again\\.`),
    );
    assert.match(forward.stderr, new RegExp(`after it, up to and including ${furthest}, come again`));

    // One that has no events leaves the list: only the walk that follows the change can find that it is gone.
    const gone = String(quiet?.id);
    simulator.publish({ kind: 'vanish', id: gone });
    // New events of other instruments, which the same response as the repeated events would contain.
    const changed = [third, fourth].map((one) => String(one?.id));
    for (const id of changed) simulator.publish({ kind: 'datachange', id });
    await scene.spconnect('resume instruments');
    await scene.start();
    const again = await eventually('the last two once more', eventsOnTopic, (records) => records.length === 7);
    // The new events can be in other partitions, which are read in any order.
    const [key] = written.map((record) => String(record.key));
    const rewritten = again.flatMap((record) => (String(record.key) === key ? [record.value] : [])).slice(3);
    const byEvents = async () => {
      const records = await scene.read('instruments');
      return records.flatMap(({ key, headers }) => (headers['spc-event-type'] === 'datachange' ? String(key) : []));
    };
    const keys = await eventually('the states of new events', byEvents, (found) => found.length === 5);
    assert.deepEqual(keys.toSorted(), [id, id, id, ...changed].sort(), 'only new events change instruments');
    const expected = written.slice(1).map(({ value }) => value);
    assert.deepEqual(rewritten, expected);
    const newest = async () => {
      const records = await scene.read('instruments');
      return records.findLast(({ key }) => String(key) === gone)?.value;
    };
    await eventually('a tombstone', newest, (value) => value === null);
  },
);

testInstallation('an offset is set as it is given, in its form only', {}, async (_t, scene) => {
  const connector = await scene.start();
  await connector.event('walkCompleted');
  await connector.stop();
  await fenceSource(scene.kafka, scene.prefix);
  await scene.spconnect('stop instruments');
  const set = await scene.spconnect('offsets set instruments --since 17-0 --execute --output json');
  assert.equal(set.code, 0, set.stderr);
  assert.match(
    set.stderr,
    /was changed\. No record has the time of this offset, so it counts as almost seven days old/,
  );
  await fenceSource(scene.kafka, scene.prefix);
  const [{ offset }] = JSON.parse((await scene.spconnect('offsets list --output json')).stdout);
  const ageHours = (Date.now() - Date.parse(offset.serverDate)) / 3_600_000;
  // Above six and a half days, a gap is suspected; above seven, it is certain, and nothing shows that.
  assert.deepEqual([offset.since, Math.floor(ageHours)], ['17-0', 6.5 * 24]);

  const ahead = await scene.spconnect('offsets set instruments --since 99999999999999-0');
  assert.equal(ahead.code, 1);
  assert.match(
    ahead.stderr,
    /^OFFSET_NOT_FOUND: No record .* 99999999999999-0, and it is not before the furthest offset /,
  );
  for (const [args, code, says] of [
    ['--since x', 2, /found --since x; expected <digits>-<digits>/],
    ['--to 1s', 1, /^OFFSET_NOT_FOUND: .*has no record of source instruments since .*committed offset then/],
    ['--to 2026-01-01', 2, /Expected a time with its zone/],
    ['--to 2999-01-01T00:00:00Z', 2, /Expected a time in the past/],
    ['--to 1h --since 1-0', 2, /cannot be used with option/],
    ['', 2, /expected --since or --to/],
  ] as const) {
    const refused = await scene.spconnect(`offsets set instruments ${args}`.trim());
    assert.equal(refused.code, code, args);
    assert.match(refused.stderr, says);
  }

  const { kafka, prefix } = scene;
  const writer = kafka.transactionalWriter('another');
  await writer.open(async () => {}, AbortSignal.timeout(60_000));
  const received = new Date(Date.now() - 8 * 86_400_000).toISOString();
  const headers = { 'spc-source': 'instruments', 'spc-since': '16-0', 'spc-received': received };
  const topic = { name: `${prefix}.instrument-events`, partitions: 6 };
  await writer.commit({ records: [keyedRecord(topic, '1', Buffer.from('x'), headers)] });
  const old = () => scene.spconnect('offsets set instruments --since 16-0');
  const tooOld = await eventually('the old place is found', old, ({ code }) => code === 1);
  assert.match(
    tooOld.stderr,
    /^OFFSET_NOT_FOUND: The source read from the offset 16-0 at .*, more than seven days ago/,
  );

  const [{ partition }] = JSON.parse((await scene.spconnect('offsets list --output json')).stdout);
  const place = { topic: `${prefix}.offsets`, partition, headers: {} };
  const key = Buffer.from(offsetKey('instruments', 'instruments'));
  await writer.commit({ records: [{ ...place, key, value: Buffer.from('{"version":') }] });
  const unreadable = () => scene.spconnect('offsets set instruments --since 17-0');
  const { stderr } = await eventually('the offset is unreadable', unreadable, ({ code }) => code === 1);
  assert.match(stderr, /^OFFSET_UNREADABLE: /);
});

testInstallation(
  'the command that a reset names knows the time of its offset, so that no gap is suspected',
  {},
  async (_t, scene) => {
    const first = await scene.start();
    await first.event('walkCompleted');
    await scene.spconnect('stop instruments');
    await first.event('sourceStopped');
    const { stdout } = await scene.spconnect('offsets reset instruments --execute');
    const [, received] = /^serverDate: (.*)$/m.exec(stdout) ?? [];
    await scene.spconnect('resume instruments');
    const notified = async () => (await scene.read('notifications')).map(({ value }) => String(value));
    const reset = await eventually('the reset is reported', notified, (all) =>
      all.some((one) => one.includes('reset')),
    );
    const [command = ''] = /offsets set instruments --since \d+-\d+/.exec(reset.join()) ?? [];
    const says = await scene.spconnect(command);
    assert.match(says.stderr, new RegExp(`^Nothing was changed.* The source read from this offset at ${received}`));
    await first.stop();
  },
);
