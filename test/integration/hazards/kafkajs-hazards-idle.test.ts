import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testOnBroker } from '../../support/kafka/raw-kafkajs-cluster.ts';

interface IdleCost {
  readonly cpuMs: number;
  readonly warnings: readonly string[];
}

const IDLE_MS = 2_000;
/** Raw kafkajs burns it each time; what a busy machine adds differs. */
const ATTEMPTS = 5;
const PROGRAM = join(import.meta.dirname, '../../support/kafka/raw-kafkajs-idle.ts');

/** What a process with one idle producer costs, in a process of its own. */
async function idleCost(client: 'raw' | 'ours', brokers: readonly string[]): Promise<IdleCost> {
  const options = [PROGRAM, client, brokers.join(), String(IDLE_MS)];
  const run = promisify(execFile)(process.execPath, options, { timeout: 600_000 });
  return JSON.parse((await run).stdout) as IdleCost;
}

testOnBroker(
  'H8: an idle raw kafkajs burns the processor and warns; our idle writer does neither',
  async (t, { brokers }) => {
    const seen: string[] = [];
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      // At the same time, so that whatever else the machine does falls on both.
      const [raw, ours] = await Promise.all([idleCost('raw', brokers), idleCost('ours', brokers)]);
      assert.deepEqual(raw.warnings, ['TimeoutNegativeWarning']);
      assert.deepEqual(ours.warnings, []);
      seen.push(`raw ${raw.cpuMs} ms, ours ${ours.cpuMs} ms`);
      t.diagnostic(`processor time of ${IDLE_MS} idle ms: ${seen.at(-1)}`);
      if (ours.cpuMs < raw.cpuMs / 2) return;
    }
    assert.fail(`Ours never takes less than half of raw: ${seen.join('; ')}`);
  },
);
