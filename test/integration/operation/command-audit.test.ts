import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installation, testInstallation } from '../../support/connectors/installation.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { eventually } from '../../support/runner/eventually.ts';

test('a topic that is what the provider has passes, also while the provider goes on', async (t) => {
  const edit = [{ pointer: '/issuePrice', value: '"1"' }];
  const faults = [
    { match: 'instruments' as const, count: 0, fault: { kind: 'poison' as const, share: 0.02, how: { edit } } },
  ];
  const scene = await installation(t, {
    // The connector and the audit request fewer rows after the refusal.
    simulator: { instruments: 300, faults, mutationsPerSecond: 0, maxLimit: 30 },
    source: { limit: 40 },
    more: `topics: { partitions: "\${COUNT:-6}" }`,
  });
  if (!scene) return;
  const { simulator } = scene;
  const connector = await scene.start();
  await connector.event('walkCompleted');
  const still = await scene.spconnect('audit instruments --settle 1s');
  assert.equal(still.code, 0, `${still.stdout}${still.stderr}`);
  assert.match(still.stderr, /300 rows\): no differences\.\n\d+ rows? could not be mapped and compared: .*\.\n$/);

  for (const command of ['audit', 'walk instruments --dry-run', 'offsets set instruments --since 1700000000000-0']) {
    const { code, stderr } = await scene.spconnect(command, { COUNT: '12' });
    assert.equal(code, 1);
    assert.match(stderr, /^TOPIC_MISMATCH: Topic \S+\.instrument\S* has 6 partitions, but the connector expects 12\./);
  }

  // With each request something changes: the list is never what the topic held when it was read.
  const changed = [...simulator.ledger.instruments()].map(({ id }) => String(id));
  let at = 0;
  const stopChanges = simulator.onRequest((endpoint) => {
    if (endpoint !== 'instruments') return;
    for (let n = 0; n < 2; n++) simulator.publish({ kind: 'datachange', id: changed[at++ % changed.length] ?? '' });
  });
  const [report] = JSON.parse((await scene.spconnect('audit --settle 2s --output json')).stdout);
  stopChanges();
  assert.ok(at >= 16, `${at} changes`);
  assert.deepEqual(report.differences, []);
});

testInstallation(
  'what is missing, different or extra is reported field by field, and nothing is written',
  { source: { emptyCommitInterval: '1s' } },
  async (_t, scene) => {
    const { simulator, kafka, prefix } = scene;
    const connector = await scene.start();
    await connector.event('walkCompleted');
    const [first, second, third, { id: fourth = 0n } = {}] = [...simulator.ledger.instruments()];
    simulator.publish({ kind: 'datachange', id: String(fourth) });
    await connector.event('streamCommitted');
    await connector.stop();
    await fenceSource(kafka, prefix);

    const changed = (text = '') =>
      text.replace(/"currency":"[A-Z]+"/, '"currency":"X\\u001b[2JX"').replace(/"name":"/, '"name":"Other ');
    const other = changed(third?.text);
    assert.notEqual(other, third?.text);
    const byEvent = [...simulator.ledger.instruments()].find(({ id }) => id === fourth)?.text;
    simulator.publish({ kind: 'replace', id: String(fourth), instrument: changed(byEvent), type: null });
    simulator.publish({ kind: 'vanish', id: String(first?.id) });
    simulator.publish({ kind: 'replace', id: String(third?.id), instrument: other, type: null });
    const { id: issued } = simulator.publish({ kind: 'newissue' });

    const json = await scene.spconnect('audit --settle 200ms --output json');
    assert.equal(json.code, 1);
    const [{ differences, left, later, rows }] = JSON.parse(json.stdout);
    assert.equal(rows, 50);
    const kinds = new Map(differences.map((one: { id: string; kind: string }) => [one.id, one.kind]));
    assert.deepEqual(
      kinds,
      new Map([
        [String(third?.id), 'different'],
        [String(fourth), 'different'],
        [String(issued), 'missing'],
      ]),
    );
    assert.ok(!kinds.has(String(second?.id)));
    assert.deepEqual(later, [String(fourth)], 'no walk corrects it yet');
    assert.deepEqual(left, [String(first?.id)], 'what left the list waits for the next walk');
    const { fields } = differences.find(({ kind }: { kind: string }) => kind === 'different');
    assert.deepEqual(fields.map(({ pointer }: { pointer: string }) => pointer).sort(), ['/currency', '/name']);

    const again = await scene.spconnect('audit instruments --settle 200ms');
    assert.equal(again.code, 1, 'it wrote nothing, so it finds the same');
    assert.match(
      again.stdout,
      new RegExp(`^instruments +${third?.id} +different +/name: the provider has "Other `, 'm'),
    );
    assert.doesNotMatch(again.stdout, /[^\P{Cc}\n]/u);
    assert.match(again.stderr, /: 1 missing, 2 different\.\nmissing: .*\ndifferent: .*\n1 instrument left the list\. /);
    const unread = /^The committed offset of source instruments dates from 20\d\d-\S+Z\. .* read its stream first\.\n/m;
    assert.match(
      again.stderr,
      new RegExp(
        `${unread.source}An event of the last 90 minutes wrote 1 of the missing or different ones\\. .*\nTo correct the topic, .*: spconnect walk instruments\n$`,
        'm',
      ),
    );

    // More than the next walk would delete unasked.
    const gone = [...simulator.ledger.instruments()].slice(1, 27).filter(({ id }) => id !== third?.id && id !== fourth);
    for (const { id } of gone) simulator.publish({ kind: 'vanish', id: String(id) });
    simulator.publish({ kind: 'datachange', id: String(second?.id) });
    for (let count = 0; count < 100; count++) simulator.publish({ kind: 'newissue' });
    let requests = 0;
    const stopCount = simulator.onRequest((endpoint) => void (endpoint === 'instruments' && requests++));
    const many = await scene.spconnect('audit instruments --settle 200ms');
    stopCount();
    assert.equal(many.code, 1);
    assert.ok(requests < 10, `${requests} requests: the list is read again, not each instrument`);
    const shown = new Set(many.stdout.match(/^instruments +\d+/gm));
    assert.equal(shown.size, 100, 'a table that can be read');
    assert.match(many.stdout, new RegExp(`^instruments +${second?.id} +different +and \\d+ other fields$`, 'm'));
    assert.match(many.stderr, /^The table is shortened; --output json has all differences\.$/m);
    assert.match(many.stderr, new RegExp(`, ${gone.length + 1} extra\\.$`, 'm'));
    assert.match(many.stderr, /^extra: .*; a walk does not delete so many without --allow-shrink\.$/m);
    assert.match(
      many.stderr,
      new RegExp(`spconnect walk instruments --allow-shrink ${Math.ceil((gone.length + 1) * 1.05)}\n$`),
    );
  },
);

testInstallation(
  'instruments that left the list after the last walk are no difference, where they can be looked for',
  {},
  async (_t, scene) => {
    const connector = await scene.start();
    await connector.event('walkCompleted');
    // Events name more instruments than one walk deletes; then the list drops these instruments.
    const [first, ...others] = [...scene.simulator.ledger.instruments()].map(({ id }) => String(id));
    const named = others.slice(-30);
    for (const id of named) scene.simulator.publish({ kind: 'datachange', id });
    await eventually(
      'the events',
      () => scene.read('instrument-events'),
      ({ length }) => length === named.length,
    );
    await connector.stop();
    await fenceSource(scene.kafka, scene.prefix);
    for (const id of [first ?? '', ...named]) scene.simulator.publish({ kind: 'vanish', id });
    const [{ staying, left }] = JSON.parse((await scene.spconnect('audit --settle 200ms --output json')).stdout);
    assert.deepEqual([staying, left], [named, [first]]);
    const dry = await scene.spconnect('walk instruments --dry-run --settle 200ms --ids 30 --output json');
    const { counts, ids, deletes } = JSON.parse(dry.stdout);
    assert.deepEqual([counts.gone, ids.gone, ids.staying, deletes], [1, [first], named, true]);
    const stay = /Only the topic has 30 instruments that an event .*more than 90 minutes after the event deletes it/;
    assert.match(dry.stderr, stay);
    const audit = await scene.spconnect('audit --settle 200ms');
    assert.equal(audit.code, 0, `${audit.stdout}${audit.stderr}`);
    assert.equal(audit.stdout, '');
    assert.match(audit.stderr, stay);
    assert.match(
      audit.stderr,
      /no differences\.\n1 instrument left the list\. This does not count as a difference\. The last walk started at 20\d\d-\S+Z\. The next begins at 20\d\d-.* no recent event names\.$/m,
    );

    // The row may be any of those that did not come.
    const [second] = [...scene.simulator.ledger.instruments()];
    const nameless = (second?.text ?? '').replace(/"id":\d+/, '"id":{}');
    scene.simulator.publish({ kind: 'replace', id: String(second?.id), instrument: nameless, type: null });
    const blind = await scene.spconnect('audit --settle 200ms');
    assert.equal(blind.code, 1, `${blind.stdout}${blind.stderr}`);
    assert.match(blind.stderr, /^1 row without a readable id: the audit did not look for .*\.$/m);
  },
);
