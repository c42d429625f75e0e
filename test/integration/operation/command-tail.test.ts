import assert from 'node:assert/strict';
import { testInstallation } from '../../support/connectors/installation.ts';
import { eventually } from '../../support/runner/eventually.ts';

testInstallation(
  'a topic is printed decoded, by key, to a limit, to its end, and as it grows',
  {},
  async (t, scene) => {
    const { simulator, prefix } = scene;
    const connector = await scene.start();
    await connector.event('walkCompleted');
    const ids = [...simulator.ledger.instruments()].map(({ id }) => String(id));
    const linesOf = (text: string) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    // A commit is visible to readers some milliseconds after it was reported, in each partition at a moment of its own.
    const onTopic = (topic: string, least: number) =>
      eventually(
        `${least} records of ${topic}`,
        async () => linesOf((await scene.spconnect(`tail ${topic} --until-end --output json`)).stdout),
        (lines) => lines.length >= least,
      );

    const all = await onTopic('instruments', ids.length);
    assert.deepEqual(new Set(all.map(({ key }) => key)), new Set(ids));
    const one = linesOf(
      (await scene.spconnect(`tail ${prefix}.instruments --until-end --key ${ids[5]} --output json`)).stdout,
    );
    const fields = one.map(({ key, value }) => [key, value.id, typeof value.issuePrice]);
    assert.deepEqual(fields, [[ids[5], ids[5], 'string']]);
    assert.equal(one[0].headers['spc-source'], 'instruments');
    assert.equal(
      linesOf((await scene.spconnect('tail instruments --from-beginning --limit 7 --output json')).stdout).length,
      7,
    );
    const text = (await scene.spconnect(`tail instruments --until-end --key ${ids[5]}`)).stdout;
    assert.match(
      text,
      new RegExp(`^${prefix}\\.instruments, key ${ids[5]}, partition \\d, offset \\d+, \\S+Z\\n  id +${ids[5]}\\n`),
    );
    const offsets = await onTopic('offsets', 1);
    assert.ok(offsets[0].value.since, 'an offset is decoded');
    const notified = await onTopic('notifications', 1);
    assert.equal(notified[0].value.kind, 'walk-completed');

    const missing = await scene.spconnect('tail daily-prices');
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /daily-prices, which does not exist\. These settings request no daily prices\. Set /);
    assert.doesNotMatch(missing.stderr, /topics create/);

    const stop = new AbortController();
    t.after(() => stop.abort());
    const following = scene.spconnect('tail instrument-events --limit 2 --output json', {}, stop.signal);
    let isOver = false;
    following.finally(() => {
      isOver = true;
    });
    // When it has found the end is not reported: events come until two were printed.
    const change = async () => simulator.change(2);
    await eventually('two events', change, () => isOver, 120_000);
    const { code, stdout, stderr } = await following;
    assert.equal(code, 0, stderr);
    assert.equal(linesOf(stdout).length, 2);
    assert.ok(linesOf(stdout)[0].value.instrument);
  },
);
