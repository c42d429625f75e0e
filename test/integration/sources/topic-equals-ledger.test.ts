import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { startConnector } from '../../support/connectors/running-connector.ts';
import { fastAvroPython } from '../../support/decoding/fastavro.ts';
import { kafkaOrSkip, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { fenceSource } from '../../support/ledgers/at-rest.ts';

const SCRIPT = new URL('../../support/decoding/compare_ledger.py', import.meta.url).pathname;
const SCHEMA = new URL('../../../schemas/Instrument.avsc', import.meta.url).pathname;
const INSTRUMENTS = 1_500;

interface Pair {
  readonly value: string;
  readonly sent: string;
}

interface Comparison {
  readonly records: number;
  readonly fields: number;
  readonly decimals: number;
  readonly extras: number;
  readonly differences: readonly string[];
}

async function compare(python: string, pairs: readonly Pair[]): Promise<Comparison> {
  const child = spawn(python, [SCRIPT, SCHEMA], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''));
  return JSON.parse(await text(child.stdout)) as Comparison;
}

/** What a whole walk left on the topic, each record beside what the provider's ledger says it served. */
async function walkedPairs(t: TestContext): Promise<readonly Pair[] | undefined> {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return undefined;
  const prefix = uniquePrefix('ledger');
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 11, port: 0 });
  t.after(() => simulator.close());
  const connector = await startConnector(t, { stack, simulator, prefix });
  await connector.event('walkCompleted');
  await connector.stop();
  await fenceSource(kafka, prefix);
  const records = await readCommitted(kafka, `${prefix}.instruments`, [0, 1, 2, 3, 4, 5]);
  const sent = new Map([...simulator.ledger.instruments()].map((instrument) => [instrument.id, instrument.text]));
  return records.map(({ key, value }) => ({
    value: value?.toString('base64') ?? '',
    sent: sent.get(String(key)) ?? '',
  }));
}

test('fastavro, in Python, reads from the topic every field as the provider sent it, decimals digit by digit', async (t) => {
  const python = await fastAvroPython();
  if (python === null) return t.skip('no python3 with fastavro can be had here');
  const pairs = await walkedPairs(t);
  if (!pairs) return;
  const { records, fields, decimals, extras, differences } = await compare(python, pairs);
  assert.deepEqual(differences, []);
  assert.equal(records, INSTRUMENTS);
  assert.ok(fields > 200 * INSTRUMENTS && decimals > 30 * INSTRUMENTS && extras > 0, `${fields} ${decimals} ${extras}`);
  t.diagnostic(`${records} records, ${fields} fields, ${decimals} exact decimals, ${extras} in extras: 0 differences`);

  // The checker itself: one digit, one missing field and one field too many must show.
  const [first, ...rest] = pairs;
  assert.ok(first);
  for (const damage of [
    (sent: string) => sent.replace(/("issuePrice":)([0-9.]+)/, '$1$2000000000000000001'),
    (sent: string) => sent.replace(/"name":"[^"]*"/, '"name":null'),
    (sent: string) => sent.replace(/^\{/, '{"surprise":1,'),
    (sent: string) => sent.replace(/"id":(\d+)/, '"id":1$1'),
    (sent: string) =>
      sent.replace(/"repayment":(null|\{[^}]*\})/, (_, was) => `"repayment":${was === 'null' ? '{}' : 'null'}`),
  ]) {
    const damaged = { ...first, sent: damage(first.sent) };
    assert.notEqual(damaged.sent, first.sent);
    const comparison = await compare(python, [damaged, ...rest.slice(0, 1)]);
    assert.notDeepEqual(comparison.differences, []);
  }
});
