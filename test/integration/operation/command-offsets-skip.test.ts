import assert from 'node:assert/strict';
import { testInstallation } from '../../support/connectors/installation.ts';
import { notificationsOn } from '../../support/ledgers/universe-on-topics.ts';
import { eventually } from '../../support/runner/eventually.ts';

testInstallation(
  'a position that can never be read is skipped by an operator, and reported with from and to',
  { simulator: { instruments: 10 }, source: { maxEvents: 8 } },
  async (_t, scene) => {
    const { simulator, kafka, prefix } = scene;
    const connector = await scene.start();
    await connector.event('walkCompleted');
    const readable = await scene.spconnect('offsets skip instruments');
    assert.equal(readable.code, 0);
    assert.match(readable.stderr, /^Nothing was changed: the response after this offset can be read\./);

    // Good events stand in one response with the bad ones: none of them may be lost.
    const [id = ''] = [...simulator.ledger.instruments()].map((one) => String(one.id));
    const spoiled = { kind: 'event', id, envelope: '{"event":{"type":"datachange"' } as const;
    const change = () => simulator.publish({ kind: 'datachange', id }).offset ?? '';
    const good = [change(), change(), change()];
    const [bad, worse] = [simulator.publish(spoiled).offset ?? '', simulator.publish(spoiled).offset];
    good.push(change(), change());
    const writtenAfter = async () => (await scene.read('instrument-events')).map(({ headers }) => headers['spc-since']);
    await connector.event('attemptFailed');
    const skippable = async () => JSON.parse((await scene.spconnect('offsets skip instruments --output json')).stdout);
    const plan = await eventually('only the unreadable events are left', skippable, ({ from }) => from === good[2]);
    assert.match(plan.problem, /^(BODY_MALFORMED|PROTOCOL_VIOLATION): /);
    assert.deepEqual([plan.from, plan.to, plan.positions], [good[2], worse, 2]);
    assert.equal((await writtenAfter()).length, 3, 'the events before are written');
    const running = await scene.spconnect('offsets skip instruments --execute');
    assert.equal(running.code, 1);
    assert.match(running.stderr, /^SOURCE_NOT_STOPPED: /);

    await scene.spconnect('stop instruments');
    const back = await scene.spconnect(`offsets skip instruments --to ${good[0]}`);
    assert.match(back.stderr, /^OFFSET_NOT_FOUND: The offset \S+ is before the committed offset /);
    const skipped = await scene.spconnect('offsets skip instruments --execute');
    assert.equal(skipped.code, 0, skipped.stderr);
    const again = await scene.spconnect('offsets skip instruments --execute');
    assert.equal(again.code, 1, 'there is nothing more to skip');
    const reported = (await notificationsOn(kafka, prefix)).filter(({ kind }) => kind === 'stream-skipped');
    assert.equal(reported.length, 1);
    const [{ gapFrom, gapTo, gapSinceFrom, gapSinceTo, why, lost } = {}] = reported;
    assert.deepEqual([gapSinceFrom, gapSinceTo, why], [plan.from, plan.to, plan.problem]);
    assert.ok(Date.parse(String(gapFrom)) <= Date.parse(String(gapTo)), `${gapFrom} to ${gapTo}`);
    assert.match(String(lost), /events after the first offset, up to and including the second; the next walks correct/);

    await scene.spconnect('resume instruments');
    await eventually('what comes after it', writtenAfter, (all) => all.length >= good.length);
    assert.deepEqual((await writtenAfter()).includes(bad), false);
    assert.equal((await writtenAfter()).length, good.length, 'no good event is lost, and none is written twice');

    simulator.injectFaults([{ match: 'events', count: 0, fault: { kind: 'status', status: 410 } }]);
    const refused = await scene.spconnect('offsets skip instruments');
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(refused.stderr, /The provider refuses the offset \S+ \(status 410\), so no response can be skipped/);
  },
);

testInstallation(
  'where the unreadable response does not show what is behind it, the operator gives the place',
  { simulator: { instruments: 5 } },
  async (_t, scene) => {
    const { simulator } = scene;
    const connector = await scene.start();
    await connector.event('walkCompleted');
    const [id = ''] = [...simulator.ledger.instruments()].map((one) => String(one.id));
    simulator.publish({ kind: 'datachange', id });
    simulator.injectFaults([{ match: 'events', count: 0, fault: { kind: 'body', body: '{"events":[' } }]);
    await connector.event('attemptFailed');
    await scene.spconnect('stop instruments');
    const unknown = await scene.spconnect('offsets skip instruments');
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /^OFFSET_NOT_FOUND: .* it does not name the next offset\. Ask the provider .* --to/s);
  },
);
