import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { WholeStatus } from '../../../src/admin/status/status.ts';
import { INSTRUMENTS, testAdmin } from '../../support/connectors/admin-connector.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';
import { listeningAddresses } from '../../support/network/listening-ports.ts';
import { eventually } from '../../support/runner/eventually.ts';

/** The probe that asks for the stream's start is request 1 of the list; pages follow. */
const SECOND_PAGE = 3;

const polls = (connector: RunningConnector) => connector.fieldsOf('polled').length;

const WRONG_TYPE = { edit: [{ pointer: '/issuePrice', value: '"1"' }] };

testAdmin(
  'a paused source asks for nothing and keeps its place, over a restart too, and goes on when resumed',
  {},
  async (_t, world) => {
    const first = await world.start();
    await first.event('walkCompleted');
    assert.equal((await first.change('PUT', '/connectors/instruments/pause')).status, 202);
    await first.states('instruments', 'PAUSED PAUSED');
    const before = polls(first);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(polls(first), before, 'it polls every 100 ms otherwise');
    assert.equal((await first.get('/readyz')).status, 200);
    await first.stop();

    const second = await world.start();
    await second.states('instruments', 'PAUSED PAUSED');
    assert.equal(polls(second), 0);
    const resumed = await world.spconnect('resume instruments');
    assert.deepEqual([resumed.code, resumed.stdout], [0, 'instruments  running\n']);
    await second.event('polled');
    await second.states('instruments', 'RUNNING RUNNING');
  },
);

testAdmin(
  'a stopped source gives up its task; its offset is reset then, and it starts from the beginning',
  {},
  async (_t, world) => {
    const connector = await world.start();
    await connector.event('walkCompleted');
    const offsets = '/connectors/instruments/offsets';
    const refused = await connector.change('DELETE', offsets);
    assert.equal(refused.status, 400);
    assert.equal((await connector.change('PUT', '/connectors/instruments/stop')).status, 204);
    await connector.states('instruments', 'STOPPED');
    await connector.event('sourceStopped');
    await fenceSource(world.kafka, world.prefix);

    const shown = (await connector.get(offsets)).body as {
      offsets: { partition: object; offset: { since: string } }[];
    };
    assert.deepEqual(shown.offsets[0]?.partition, { endpoint: 'instruments' });
    assert.match(shown.offsets[0]?.offset.since ?? '', /^\d+-\d+$/);
    const wrong = { offsets: [{ partition: { endpoint: 'instruments' }, offset: { since: '5-0' } }] };
    const answer = await connector.change('PATCH', offsets, wrong);
    assert.equal(answer.status, 400);
    const says = /was not changed, because source instruments cannot continue from it: .*version/;
    assert.match(JSON.stringify(answer.body), says);
    assert.deepEqual((await connector.get(offsets)).body, shown);
    assert.equal((await connector.change('PATCH', offsets, shown)).status, 200);
    assert.equal((await connector.change('DELETE', offsets)).status, 200);
    await fenceSource(world.kafka, world.prefix);
    assert.deepEqual((await connector.get(offsets)).body, { offsets: [] });
    assert.equal(connector.fieldsOf('walkCompleted').length, 1);

    assert.equal((await connector.change('PUT', '/connectors/instruments/resume')).status, 202);
    const completed = () => connector.fieldsOf('walkCompleted').length;
    await eventually('another walk', completed, (walks) => walks === 2);
    const walks = connector.fieldsOf('walkCompleted');
    // The census knows the topic: nothing is written twice, although the source begins again.
    assert.deepEqual([walks[1]?.unchanged, walks[1]?.added], [INSTRUMENTS, 0]);
  },
);

testAdmin(
  'a failed source leaves the process alive and not ready, and a restart lets it go on without a repetition',
  {},
  async (_t, world) => {
    world.simulator.injectFaults([
      { match: 'instruments', nth: SECOND_PAGE, count: 0, fault: { kind: 'poison', share: 1, how: WRONG_TYPE } },
    ]);
    // More rows per page than may always be dead letters.
    const connector = await world.start({ limit: 30 });
    await connector.event('sourceFailed');
    await connector.states('instruments', 'RUNNING FAILED');
    assert.equal((await connector.get('/livez')).status, 200);
    const readiness = await connector.get('/readyz');
    assert.equal(readiness.status, 503);
    assert.match(String(readiness.body), /source instruments: failed: TOO_MANY_DEAD_LETTERS/);
    const task = (await connector.get('/connectors/instruments/tasks/0/status')).body as { trace: string };
    assert.match(task.trace, /^TOO_MANY_DEAD_LETTERS: .*\n`spconnect preview instruments` shows the rows/);

    world.simulator.clearFaults();
    const asked = await connector.change('POST', '/connectors/instruments/restart?includeTasks=true&onlyFailed=true');
    assert.equal(asked.status, 202);
    const walk = await connector.event('walkCompleted');
    assert.equal(walk.fields.rows, INSTRUMENTS);
    await connector.states('instruments', 'RUNNING RUNNING');
    assert.equal((await connector.get('/readyz')).status, 200);
    assert.deepEqual(await connector.stop(), []);
  },
);

testAdmin(
  'a start as it comes listens on this machine alone, and what it shows holds no secret',
  {},
  async (t, world) => {
    if (!existsSync('/proc/self/net/tcp')) return t.skip('SKIPPED: there is no /proc to look at');
    const { simulator } = world;
    const canary = 'canary-of-the-admin-token';
    const connector = await world.startCommand({ env: { ADMIN_TOKEN: canary } });
    const line = JSON.parse(await connector.line('admin server listens')) as { url: string };
    await connector.line('walk completed');
    const { port } = new URL(line.url);
    assert.deepEqual(await listeningAddresses(connector.child.pid ?? 0), [`127.0.0.1:${port}`]);
    const paths = ['/', '/status.json', '/metrics', '/readyz?verbose', '/connectors?expand=info&expand=status'];
    const texts = await Promise.all(paths.map(async (path) => (await fetch(`${line.url}${path}`)).text()));
    texts.push(await (await fetch(line.url, { headers: { accept: 'text/html' } })).text(), ...connector.lines);
    for (const secret of [canary, simulator.clientSecret]) {
      assert.ok(!texts.some((text) => text.includes(secret)), 'a secret is shown');
    }
    const openRequest = fetch(`${line.url}/metrics`);
    connector.child.kill('SIGTERM');
    await openRequest.catch(() => {});
    assert.deepEqual(await connector.ended, { code: 0, signal: null });
    await assert.rejects(fetch(`${line.url}/livez`));
  },
);

const PRICED = { prices: '{ kinds: { overview: { refreshInterval: 2s } } }' };

testAdmin(
  'with two replicas, the status of either shows both: from the groups and the topics',
  PRICED,
  async (_t, world) => {
    const others = [{ name: 'checks', type: 'pre-trade-checks' }];
    const replicas = [await world.start({}, others), await world.start({}, others)] as const;
    const shown = () =>
      Promise.all(
        replicas.map(async ({ url, get }) => ({ url, ...((await get('/status.json')).body as WholeStatus) })),
      );
    const isWhole = ({ sources, processor, whole }: WholeStatus) =>
      sources.filter(({ owned }) => owned).length === 1 &&
      processor?.partitions.length === (whole?.pricedPartitions ?? 0) / 2 &&
      whole?.sources?.length === 2 &&
      Object.values(whole.offsets).every((since) => since !== null) &&
      Object.keys(whole.newestPrices).length >= whole.pricedPartitions / 2;
    const both = await eventually('both know each other', shown, (found) => found.every(isWhole), 120_000);
    for (const { url, sources, processor, whole } of both) {
      const { stdout } = await world.spconnect(`status --url ${url}`);
      const share = `this one has ${processor?.partitions.length} of ${whole?.pricedPartitions} partitions`;
      assert.match(
        stdout,
        new RegExp(`2 replicas share the sources; this one has 1 of 2; 2 replicas share the prices; ${share}`),
      );
      const elsewhere = sources.find(({ owned }) => owned === false)?.name ?? '';
      assert.match(
        stdout,
        new RegExp(
          `^${elsewhere}: UNASSIGNED .*\\n  +Its partition belongs to another replica, which shows its state\\.\\n  Assigned to +\\S+\\n  Offset +\\d+-\\d+$`,
          'm',
        ),
      );
      assert.match(
        stdout,
        /^ {2}At \S+ +\d+ partitions \([\d, ]+\), (the newest price of each partition is at most |\d+ without)/m,
      );
    }
    await replicas[1].stop();
    const alone = await eventually(
      'the one that stays has all',
      async () => (await world.spconnect(`status --url ${replicas[0].url}`)).stdout,
      (text) => !/Another replica|Replicas/.test(text) && text.match(/RUNNING/g)?.length === 3,
      120_000,
    );
    assert.doesNotMatch(alone, /At \S+ +\d+ partition/);
  },
);
