import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import { eventually } from '../../support/runner/eventually.ts';

const SESSION_MS = 3_000;
/** What a restart may take beside the session of the process that was killed. */
const BESIDE_MS = 2_000;
const PARTITIONS = 6;
/** A slow recovery is slow each time. */
const KILLS = 5;

testInstallation(
  'killed without another process beside it, the connector does all its work again two seconds after its session at most',
  { prices: '{}', env: { SESSION_TIMEOUT: `${SESSION_MS}ms` } },
  async (t, at) => {
    const admin = at.broker.plain().admin();
    await admin.connect();
    t.after(() => admin.disconnect());
    const start = async () => {
      const startedMs = performance.now();
      const connector = at.startKillable('stay');
      await connector.line('"source started"');
      const assigned = () => connector.lines.filter((line) => line.includes('"partition assigned"')).length;
      await eventually('every partition is priced', assigned, (count) => count >= PARTITIONS);
      return { connector, tookMs: performance.now() - startedMs };
    };
    // A process that is killed before the broker knows it as a member leaves a join behind that must end too.
    const groupsAreStable = async () => {
      const { groups } = await admin.listGroups();
      const ids = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(at.prefix));
      const described = await admin.describeGroups(ids);
      return ids.length === 2 && described.groups.every(({ state }) => state === 'Stable');
    };
    const kill = async ({ child }: ConnectorProcess) => {
      await eventually('both groups know their member', groupsAreStable, (stable) => stable);
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    // What a start takes on a busy machine says nothing about the recovery, and one busy moment nothing about the next.
    const first = await start();
    await first.connector.line('"walk completed"');
    const limitMs = SESSION_MS + Math.max(BESIDE_MS, 2 * first.tookMs);
    const recoveriesMs: number[] = [];
    const isQuick = () => recoveriesMs.some((tookMs) => tookMs <= limitMs);
    for (let last = first; !isQuick() && recoveriesMs.length < KILLS; ) {
      await kill(last.connector);
      last = await start();
      recoveriesMs.push(last.tookMs);
    }
    const text = `recovered ${recoveriesMs.map(Math.round).join(', ')} ms after a kill; the limit is ${Math.round(limitMs)} ms`;
    t.diagnostic(text);
    assert.ok(isQuick(), text);
  },
);
