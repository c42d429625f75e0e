import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import {
  type ConnectorProcess,
  connectorEnvironment,
  quickSettings,
  settingsText,
  startKillableConnector,
} from '../../support/connectors/connector-process.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { eventually } from '../../support/runner/eventually.ts';

const SESSION_MS = 3_000;
/** What a restart may take beside the session of the process that was killed. */
const BESIDE_MS = 2_000;
const PARTITIONS = 6;

test('killed without another process beside it, the connector does all its work again two seconds after its session at most', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const simulator = await createSimulator({ instruments: 50, seed: 5, port: 0 });
  t.after(() => simulator.close());
  const SETTINGS = settingsText(quickSettings(), `marketData: { url: "${simulator.marketDataUrl}" }`);
  const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: uniquePrefix('kill'), SETTINGS });
  const start = async () => {
    const startedMs = performance.now();
    const connector = startKillableConnector('stay', { ...env, SESSION_TIMEOUT: `${SESSION_MS}ms` });
    t.after(() => connector.child.kill('SIGKILL'));
    await connector.line('"source started"');
    const assigned = () => connector.lines.filter((line) => line.includes('"partition assigned"')).length;
    await eventually('every partition is priced', assigned, (count) => count >= PARTITIONS);
    return { connector, tookMs: performance.now() - startedMs };
  };
  const kill = async ({ child }: ConnectorProcess) => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const first = await start();
  await first.connector.line('"walk completed"');
  await kill(first.connector);
  const second = await start();
  // What a start takes on a busy machine says nothing about the recovery; only what lies above a first start does.
  const recoveryMs = second.tookMs;
  const text = `recovered ${Math.round(recoveryMs)} ms after the kill; the first start took ${Math.round(first.tookMs)} ms`;
  t.diagnostic(text);
  assert.ok(recoveryMs <= SESSION_MS + Math.max(BESIDE_MS, 2 * first.tookMs), text);
});
