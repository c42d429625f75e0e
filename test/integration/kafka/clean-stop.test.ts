import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, testInstallation } from '../../support/connectors/installation.ts';
import { startConnector } from '../../support/connectors/running-connector.ts';
import { startTcpProxies } from '../../support/network/tcp-proxy.ts';
import { openOurCluster } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

const CHANGE_EVERY_MS = 50;
/** Requests that are part of a transaction, or begin one. */
const TRANSACTIONAL = new Set(['InitProducerId', 'AddPartitionsToTxn', 'Produce', 'EndTxn']);
/**
 * What the heir may ask for, from its assignment to its first commit: one transaction that ends what hangs in all topics,
 * and one with records. Each is InitProducerId, AddPartitionsToTxn, Produce and EndTxn, of which some are repeated while the
 * transaction before is completed; more than twice as many would be one for each partition.
 */
const MOST_OPENING_SENDS = 2;

/** A replica behind a proxy of its own, which sees what it asks Kafka for. */
async function startReplica(
  t: TestContext,
  { stack, simulator, prefix }: Pick<Installation, 'stack' | 'simulator' | 'prefix'>,
) {
  const { brokers } = stack;
  const proxy = await startTcpProxies(brokers);
  t.after(() => proxy.close());
  // No replica is taken for dead because the machine is busy.
  const kafka = openOurCluster(t, { brokers, proxy, tuning: { groupSessionTimeoutMs: 60_000 } });
  const connector = await startConnector(t, {
    stack,
    simulator,
    prefix,
    roles: 'sources',
    overrides: { kafka },
  });
  const named = (name: string) => connector.seen.filter((event) => event.name === name);
  const heldNow = () => (named('replicaJoined').at(-1)?.fields as { partitions: readonly number[] })?.partitions;
  return {
    connector,
    heldNow,
    commits: () => named('streamCommitted').length,
    /** What it has asked for since that many requests. */
    requests: (since = 0) => proxy.trace.slice(since).map(({ api }) => api),
  };
}

const TITLE =
  'a replica that stops leaves its group when its transaction has ended; its heir commits after few requests';

testInstallation(TITLE, { simulator: { instruments: 100, seed: 5 } }, async (t, common) => {
  const { stack, simulator } = common;
  const changing = new AbortController();
  t.after(() => changing.abort());
  const change = async () => {
    for (;;) {
      simulator.change(1);
      await sleep(CHANGE_EVERY_MS, undefined, { signal: changing.signal });
    }
  };
  change().catch(() => {});
  const owner = await startReplica(t, common);
  await eventually('the owner commits', owner.commits, (count) => count > 0);
  const heir = await startReplica(t, common);
  await eventually('the heir is a member', heir.heldNow, (held) => held?.length === 0);

  const before = heir.requests().length;
  await owner.connector.stop();
  await eventually('the heir commits', heir.commits, (count) => count > 0);
  const asked = heir.requests(before);
  const firstCommit = asked.indexOf('EndTxn', asked.indexOf('EndTxn') + 1);
  const count = (api: string) => asked.slice(0, firstCommit).filter((of) => of === api).length;
  t.diagnostic(`from the stop to the heir's first commit: ${asked.slice(0, firstCommit + 1).join(' ')}`);
  // A transaction's records go to each broker that leads some of their partitions.
  const most = MOST_OPENING_SENDS * stack.brokers.length;
  assert.ok(count('Produce') <= most, `${count('Produce')} requests with records`);

  const leaving = owner.requests();
  const left = leaving.lastIndexOf('LeaveGroup');
  assert.ok(left > leaving.lastIndexOf('EndTxn'), 'its last transaction has ended');
  const late = leaving.slice(left).filter((api) => TRANSACTIONAL.has(api));
  assert.deepEqual(late, []);
});
