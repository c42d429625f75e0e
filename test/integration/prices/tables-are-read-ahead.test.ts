import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import {
  type ConnectorProcess,
  connectorEnvironment,
  quickSettings,
  settingsText,
  startKillableConnector,
} from '../../support/connectors/connector-process.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';
import { testOnBroker } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { onceRight, unansweredInputs } from '../../support/ledgers/prices-on-topics.ts';
import { eventually } from '../../support/runner/eventually.ts';

const INSTRUMENTS = 50;
const PARTITIONS = 6;
/** A start on a busy machine may take as long as the session: it is twice as long for each further process. */
const SESSION_SECONDS = 10;
const KILLS = 4;

interface Assigned {
  readonly instruments: number;
  readonly isReadAhead: boolean;
}

testOnBroker(
  'while its join waits for a process that was killed, the price processor reads its tables',
  async (t, { admin }) => {
    const [stack, client] = [await stackOrSkip(t), await kafkaOrSkip(t)];
    if (!stack || !client) return;
    const kafka = client.connect();
    const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 6, port: 0 });
    t.after(() => simulator.close());
    const prefix = uniquePrefix('ahead');
    const SETTINGS = settingsText(quickSettings(), `marketData: { url: "${simulator.marketDataUrl}" }`);
    const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, SETTINGS });
    let seconds = SESSION_SECONDS;
    const start = async () => {
      const connector = startKillableConnector('stay', { ...env, SESSION_TIMEOUT: `${seconds}s` });
      seconds *= 2;
      t.after(() => connector.child.kill('SIGKILL'));
      const lines = () => connector.lines.filter((line) => line.includes('"partition assigned"'));
      await eventually('every partition is assigned', lines, (found) => found.length >= PARTITIONS);
      return { connector, assigned: lines().map((line) => JSON.parse(line) as Assigned) };
    };
    const allPriced = () =>
      onceRight(async () => {
        const { waiting, all } = await unansweredInputs(kafka, prefix);
        return all < INSTRUMENTS || waiting > 0 ? `${waiting} of ${all} wait` : null;
      });
    const isMember = async () => {
      const { groups } = await admin.describeGroups([`${prefix}-prices`]);
      return groups[0]?.state === 'Stable';
    };
    const kill = async ({ child }: ConnectorProcess) => {
      await eventually('the group knows its member', isMember, (stable) => stable);
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    const first = await start();
    await allPriced();
    assert.ok(first.assigned.every(({ isReadAhead }) => !isReadAhead));
    let last = first;
    for (let kills = 0; kills < KILLS && !last.assigned.some(({ isReadAhead }) => isReadAhead); kills++) {
      await kill(last.connector);
      last = await start();
    }
    assert.ok(last.assigned.some(({ isReadAhead }) => isReadAhead));
    assert.equal(
      last.assigned.reduce((sum, { instruments }) => sum + instruments, 0),
      INSTRUMENTS,
    );
    // What comes after the tables is answered as ever.
    simulator.change(5);
    await allPriced();
  },
);
