import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { testInstallation } from '../../support/connectors/installation.ts';
import { fastAvroPython } from '../../support/decoding/fastavro.ts';
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

const TITLE = 'fastavro, in Python, reads from the topic every field as the provider sent it, decimals digit by digit';

testInstallation(TITLE, { simulator: { instruments: INSTRUMENTS, seed: 11 } }, async (t, at) => {
  const python = await fastAvroPython();
  if (python === null) return t.skip('no python3 with fastavro can be had here');
  const connector = await at.start();
  await connector.event('walkCompleted');
  await connector.stop();
  await fenceSource(at.kafka, at.prefix);
  const texts = new Map([...at.simulator.ledger.instruments()].map(({ id, text }) => [id, text]));
  const pairs = (await at.read('instruments')).map(({ key, value }) => ({
    value: value?.toString('base64') ?? '',
    sent: texts.get(String(key)) ?? '',
  }));
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
