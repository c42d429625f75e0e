import assert from 'node:assert/strict';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { CommittedRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/support/clock.ts';
import type { Campaign } from './campaign.ts';
import type { ComposeProject } from './compose-project.ts';
import type { DockerEngine } from './docker-engine.ts';
import { eventually } from './eventually.ts';

const PARTITIONS = [0, 1, 2, 3, 4, 5];
const STOP_LIMIT_MS = 10_000;
/** On a busy machine, the list is walked and priced after a while. */
const FLOW_LIMIT_MS = 240_000;
const READ_LIMIT_MS = 60_000;
const PREFIX = 'structured-products';
const BROKER = 'localhost:9092';
const READY_URL = 'http://127.0.0.1:8083/readyz';

interface ListedOffset {
  readonly source: string;
  readonly offset: { readonly since: string; readonly walk: number; readonly walkPending: boolean };
}

export interface ConnectorScene {
  readonly campaign: Campaign;
  readonly engine: DockerEngine;
  readonly project: ComposeProject;
  /** How many instruments the simulated provider begins with. */
  readonly instruments: number;
}

/** What is true of the connector in its container, while everything runs. */
export async function checkConnector({ campaign, engine, project, instruments }: ConnectorScene): Promise<void> {
  const { step } = campaign;
  await step('all services are healthy', async () => {
    const states = await project.states();
    const unhealthy = states.filter(({ State, Health }) => State !== 'running' || Health !== 'healthy');
    assert.deepEqual(unhealthy, []);
    return states.map(({ Service }) => Service).join(', ');
  });
  await step('the connector is ready on the port of this machine', async () => {
    const answer = await fetch(READY_URL, { signal: AbortSignal.timeout(10_000) });
    assert.equal(answer.status, 200, await answer.text());
  });
  await step('every instrument is on Kafka for a read_committed reader on this machine, and has a price', () =>
    eventually(async () => {
      const { instruments: universe, prices } = await readTopics();
      const [known, priced] = [keys(universe), keys(prices)];
      assert.ok(known.size >= instruments, `${known.size} of ${instruments} instruments`);
      const without = [...known].filter((key) => !priced.has(key)).length;
      assert.ok(without <= known.size / 100, `${without} of ${known.size} instruments have no price yet`);
      return `${known.size} instruments, ${priced.size} with a price`;
    }, FLOW_LIMIT_MS),
  );
  await step('its process is user 65532, without capabilities, on a root that nothing can be written to', async () => {
    const inspected = await engine.docker([
      'inspect',
      '--format',
      '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.Privileged}}',
      await project.container('connector'),
    ]);
    assert.equal(inspected, '65532:65532 true [ALL] false');
    assert.deepEqual(JSON.parse(await project.exec('connector', ['node', '-e', LOOK_INSIDE])), {
      Uid: '65532\t65532\t65532\t65532',
      Gid: '65532\t65532\t65532\t65532',
      CapInh: '0000000000000000',
      CapPrm: '0000000000000000',
      CapEff: '0000000000000000',
      CapBnd: '0000000000000000',
      CapAmb: '0000000000000000',
      NoNewPrivs: '1',
      writes: ['EROFS', 'EROFS', 'EROFS', 'EROFS'],
    });
  });
  let before: ListedOffset['offset'] | undefined;
  await step('`docker compose exec connector node dist/main.js offsets list` shows the walk at its end', () =>
    eventually(async () => {
      before = await offsetOf(project);
      assert.equal(before.walkPending, false, 'the walk goes on');
      return `at ${before.since}`;
    }, FLOW_LIMIT_MS),
  );
  await step('`docker compose stop connector` ends within 10 s with exit code 0', async () => {
    const startedMs = systemClock.monotonicMs();
    await project.compose(['stop', 'connector']);
    const tookMs = systemClock.monotonicMs() - startedMs;
    const code = await engine.docker([
      'inspect',
      '--format',
      '{{.State.ExitCode}}',
      await project.container('connector'),
    ]);
    assert.equal(code, '0');
    assert.ok(tookMs < STOP_LIMIT_MS, `it took ${Math.round(tookMs)} ms`);
  });
  await step(
    'started again it goes on where it was: events follow, none comes twice, and no walk begins again',
    async () => {
      const stopped = await readTopics();
      await project.up([], 'connector');
      const now = await eventually(async () => {
        const topics = await readTopics();
        assert.ok(topics.events.length > stopped.events.length, 'no event has followed');
        assert.ok(topics.prices.length > stopped.prices.length, 'no price has followed');
        return topics;
      }, FLOW_LIMIT_MS);
      assert.deepEqual([twice(now.events), twice(now.prices)], [0, 0]);
      const { since, walk } = await offsetOf(project);
      assert.equal(walk, before?.walk);
      assert.notEqual(since, before?.since);
      return `${now.events.length - stopped.events.length} events and ${now.prices.length - stopped.prices.length} prices more`;
    },
  );
}

/** What the connector's own process, not the one that looks, is allowed. */
const LOOK_INSIDE = `
const fs = require('node:fs');
const pid = fs.readdirSync('/proc').filter(Number).find((one) => one !== String(process.pid) &&
  /^node\\0.*dist\\/main\\.js\\0run/.test(fs.readFileSync('/proc/' + one + '/cmdline', 'utf8')));
const status = fs.readFileSync('/proc/' + pid + '/status', 'utf8');
const field = (name) => [name, new RegExp('^' + name + ':\\\\s+(.*)$', 'm').exec(status)[1]];
const write = (folder) => { try { fs.writeFileSync(folder + '/x', ''); return 'written'; } catch (e) { return e.code; } };
console.log(JSON.stringify({
  ...Object.fromEntries('Uid Gid CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs'.split(' ').map(field)),
  writes: ['', '/app', '/app/dist', '/tmp'].map(write),
}));`;

async function offsetOf(project: ComposeProject): Promise<ListedOffset['offset']> {
  const command = ['node', 'dist/main.js', 'offsets', 'list', '--output', 'json'];
  const listed = JSON.parse(await project.exec('connector', command)) as readonly ListedOffset[];
  const found = listed.find(({ source }) => source === 'instruments');
  assert.ok(found, `there is no source instruments in ${JSON.stringify(listed)}`);
  return found.offset;
}

/** From this machine, by the listener that is meant for it. */
async function readTopics() {
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const own = { brokers: [BROKER], clientId: 'compose-up', clock: systemClock, random: Math.random, log: silent };
  const cluster = connectKafka(own);
  const read = async (name: string) => {
    const records: CommittedRecord[] = [];
    const onRecord = (record: CommittedRecord) => records.push(record);
    const signal = AbortSignal.timeout(READ_LIMIT_MS);
    await cluster.logReader.readToEnd({ topic: `${PREFIX}.${name}`, partitions: PARTITIONS, onRecord, signal });
    return records;
  };
  try {
    return {
      instruments: await read('instruments'),
      events: await read('instrument-events'),
      prices: await read('prices'),
    };
  } finally {
    await cluster.close();
  }
}

/** Those that have a value at last. */
function keys(records: readonly CommittedRecord[]): ReadonlySet<string> {
  const last = new Map(records.map(({ key, value }) => [String(key), value]));
  return new Set([...last].filter(([, value]) => value !== null).map(([key]) => key));
}

/** How many records repeat another one's key and bytes. */
function twice(records: readonly CommittedRecord[]): number {
  const withValue = records.filter(({ value }) => value !== null);
  return withValue.length - new Set(withValue.map(({ key, value }) => `${key} ${value?.toString('base64')}`)).size;
}
