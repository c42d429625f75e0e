import assert from 'node:assert/strict';
import { testInstallation } from '../../support/connectors/installation.ts';
import { eventually } from '../../support/runner/eventually.ts';

testInstallation(
  'a dry run says what a walk would write and delete, while another process owns the source, and writes nothing',
  { simulator: { instruments: 40 }, source: { walkInterval: '365d', limit: 10 } },
  async (_t, scene) => {
    const { simulator } = scene;
    const connector = await scene.start();
    await connector.event('walkCompleted');
    const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
    const plan = async (more = '') => {
      const ran = await scene.spconnect(`walk instruments --dry-run --settle 1s --ids 2 --output json${more}`);
      assert.equal(ran.code, 0, ran.stderr);
      return { ...JSON.parse(ran.stdout), said: ran.stderr };
    };
    const same = await plan();
    assert.deepEqual([same.rows, same.held, same.deletes, same.counts.unchanged], [40, 40, true, 40]);

    const unmapped = { kind: 'poison', share: 1, how: { edit: [{ pointer: '/issuePrice', value: '"x"' }] } } as const;
    simulator.injectFaults([{ match: 'instruments', count: 0, fault: unmapped }]);
    const { stopsWalk, said } = await plan();
    const audit = await scene.spconnect('audit --settle 1s');
    simulator.clearFaults();
    assert.match(
      stopsWalk,
      /^30 of 30 recent rows, up to the list, minId=\d+, do not map, more than mapping\.maxDeadLetters/,
    );
    assert.match(said, /A walk would stop the source \(TOO_MANY_DEAD_LETTERS\): 30 of 30/);
    assert.equal(audit.code, 1, 'it compared next to nothing');

    // A list that is cut, although the topic has every instrument behind its end.
    simulator.injectFaults([{ match: 'instruments', nth: 2, fault: { kind: 'links', how: 'end' } }]);
    const short = await plan();
    simulator.clearFaults();
    assert.deepEqual([short.deletes, short.deletesNot, short.counts.gone], [false, ['rowsBehindTheEnd'], 20]);
    simulator.injectFaults([{ match: 'instruments', nth: 2, fault: { kind: 'links', how: 'end' } }]);
    const cutAudit = await scene.spconnect('audit --settle 1s');
    simulator.clearFaults();
    assert.equal(cutAudit.code, 1);
    assert.match(cutAudit.stderr, /The list has more rows after its last page: the audit is not complete/);
    assert.doesNotMatch(cutAudit.stderr, /extra|allow-shrink/);

    // The stream changes rows before the list shows them: a walk leaves these to the stream.
    let at = 0;
    const stopChanges = simulator.onRequest((endpoint) => {
      if (endpoint === 'instruments' && at < 4) simulator.publish({ kind: 'datachange', id: ids[36 + at++] ?? '' });
    });
    const live = await plan();
    stopChanges();
    assert.deepEqual([live.counts.corrected, live.ids.corrected, live.counts.touched > 0], [0, [], true]);

    // Seen by the list alone: the connector is away while the provider changes.
    await connector.stop();
    const [first = '', second = '', third = ''] = ids;
    simulator.publish({ kind: 'vanish', id: first });
    simulator.publish({ kind: 'datachange', id: second });
    simulator.publish({ kind: 'newissue' });
    const [added] = [...simulator.ledger.instruments()].map(({ id }) => id).filter((id) => !ids.includes(id));
    const edit = [{ pointer: '/issuePrice', value: '"x"' }];
    simulator.injectFaults([{ match: 'instruments', fault: { kind: 'poison', rows: [1], how: { edit } } }]);
    const all = ['instruments', 'instrument-events', 'dead-letters', 'offsets', 'states', 'notifications'];
    const written = async () => {
      const logs = await Promise.all(all.map((name) => scene.read(name)));
      return logs.map(({ length }) => length);
    };
    const before = await written();
    const changed = await plan();
    assert.deepEqual(await written(), before, 'a plan writes nothing');
    assert.deepEqual(changed.ids, {
      added: [added],
      corrected: [second],
      reEncoded: [],
      deadLetters: [third],
      gone: [first],
      staying: [],
    });
    assert.deepEqual([changed.counts.unchanged, changed.rows, changed.deletes], [37, 40, true]);

    // A list that is cut: a walk would delete nothing of what it does not show.
    simulator.clearFaults();
    simulator.injectFaults([{ match: 'instruments', nth: 2, fault: { kind: 'links', how: 'end' } }]);
    const cut = await plan();
    assert.deepEqual([cut.deletes, cut.deletesNot], [false, ['rowsBehindTheEnd']]);

    // More than a walk may delete.
    simulator.clearFaults();
    for (const id of ids.slice(3, 34)) simulator.publish({ kind: 'vanish', id });
    const refused = await plan();
    assert.deepEqual([refused.counts.gone, refused.deletes, refused.deletesNot], [32, false, 'tooMany']);
    assert.deepEqual(refused.ids.gone, [first, ids[3]]);
    assert.match(refused.said, /so many instruments without a sufficient --allow-shrink/);
    assert.equal((await plan(' --allow-shrink 32')).deletes, true);

    // What was planned is what a walk then does. A dead letter that is on the topic already is written by none. No event
    // touched the third instrument: a walk uses its row.
    const text = `{"id":${third},"issuePrice":"x"}`;
    simulator.injectFaults([{ match: 'instruments', count: 0, fault: { kind: 'poison', rows: [1], how: { text } } }]);
    const dead = await plan(' --allow-shrink 32');
    assert.deepEqual([dead.counts.deadLetters, dead.counts.knownDeadLetters], [1, 0]);
    await scene.spconnect('walk instruments --allow-shrink 32');
    const again = await scene.start();
    const walked = await again.event('walkCompleted');
    assert.equal(walked.fields.gone, refused.counts.gone);
    const known = await plan();
    assert.deepEqual([known.counts.deadLetters, known.counts.knownDeadLetters, known.ids.deadLetters], [0, 1, []]);
    assert.match(known.said, /1 row is a dead letter already/);

    // An instrument that is issued after the last page was read does not show that the list was cut.
    let asked = 0;
    simulator.onRequest((endpoint) => {
      if (endpoint === 'instruments' && ++asked === 2) simulator.publish({ kind: 'newissue', id: String(2n ** 62n) });
    });
    const issued = await plan();
    assert.deepEqual([issued.deletes, issued.deletesNot, asked > 2], [true, null, true]);
  },
);

testInstallation(
  'while the stream repeats events, a dry run and an audit say that no walk deletes anything',
  { simulator: { instruments: 10 }, source: { walkInterval: '365d' } },
  async (_t, scene) => {
    const { simulator } = scene;
    const connector = await scene.start();
    await connector.event('walkCompleted');
    const [first = '', second = ''] = [...simulator.ledger.instruments()].map(({ id }) => id);
    const { offset } = simulator.publish({ kind: 'datachange', id: first });
    simulator.publish({ kind: 'datachange', id: first });
    const written = () => scene.read('instrument-events');
    await eventually('both events', written, (records) => records.length === 2);
    await scene.spconnect('stop instruments');
    const set = await scene.spconnect(`offsets set instruments --since ${offset} --execute`);
    assert.equal(set.code, 0, set.stderr);
    simulator.publish({ kind: 'vanish', id: second });
    const plan = await scene.spconnect('walk instruments --dry-run --settle 1s');
    assert.match(plan.stderr, /Only the topic has 1 instrument: the stream repeats earlier events, so no walk deletes/);
    const audit = await scene.spconnect('audit --settle 1s');
    assert.equal(audit.code, 0, audit.stderr);
    assert.match(audit.stdout + audit.stderr, /The stream repeats earlier events, and no walk deletes anything/);
    await connector.stop();
  },
);
