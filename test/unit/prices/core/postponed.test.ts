import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartitionCore } from '../../../../src/prices/core/partition-core.ts';
import { NO_TERMS } from '../../../../src/records/avro/instrument-terms.ts';
import { answerAll, coreSettings, proceed } from '../../../support/priced-core.ts';

const LINGER_MS = 100;
const SECOND_MS = 1_000;
/** Of records, of records that wait no longer, and of refreshes. */
const MOST_BATCHES = 2 + 3 + 4;

const coreOver = (instruments: readonly (readonly [string, string])[]) => {
  const kinds = [{ kind: 'overview', refreshIntervalMs: 24 * 3_600_000 }] as const;
  const settings = coreSettings({ kinds, lingerMs: LINGER_MS, maxItems: () => 1, maxBackoffMs: 60 * SECOND_MS });
  return new PartitionCore(settings, { offset: 10n, instruments }, 0);
};

test('an offset that leaves a change of isin behind takes the price of the earlier one with it', () => {
  const core = coreOver([['1', 'old']]);
  for (const [offset, id, isin] of [
    [10n, '1', 'new'],
    [11n, '2', 'other'],
    [12n, '1', 'new'],
  ] as const)
    core.read(offset, id, { kind: 'live', isin, terms: NO_TERMS }, 0);
  const first = core.next(LINGER_MS);
  assert.ok(first.kind === 'ask' && first.batch.questions[0]?.id === '2');
  const second = core.next(LINGER_MS);
  assert.ok(second.kind === 'ask' && second.batch.questions[0]?.id === '1');
  answerAll(core, first.batch);
  const step = core.next(LINGER_MS);
  assert.ok(step.kind === 'commit');
  assert.equal(step.transaction.offset, 12n);
  const results = step.transaction.parts.flatMap((part) => part.results);
  // A process that begins there takes the isin of record 10 for answered.
  assert.deepEqual(
    results.map((result) => [result.kind, 'withdrawal' in result ? result.withdrawal : null]),
    [
      ['prices', null],
      ['postponed', 'isin-changed'],
    ],
  );
});

test('while nothing is answered for an hour, records are read on, and few batches are asked for', () => {
  const core = coreOver([]);
  let asked = 0;
  for (let second = 0; second < 3_600; second++) {
    const nowMs = second * SECOND_MS;
    core.read(core.position, String(second), { kind: 'live', isin: `isin-${second}`, terms: NO_TERMS }, nowMs);
    proceed(core, nowMs, () => {
      asked += 1;
    });
    assert.ok(core.unanswered <= 60, `${core.unanswered} records wait after ${second} s`);
  }
  assert.ok(asked <= MOST_BATCHES, `${asked} batches are asked for`);
});
