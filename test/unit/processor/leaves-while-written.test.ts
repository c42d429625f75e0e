import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_TERMS } from '../../../src/avro/instrument-terms.ts';
import { PartitionCore } from '../../../src/processor/core/partition-core.ts';
import { Repayment } from '../../../src/processor/core/repayment.ts';
import { ReportedFailures } from '../../../src/processor/core/reported-failures.ts';

test('instruments that leave while their failure is written are no suspects for good', () => {
  const ids = Array.from({ length: 60 }, (_, id) => String(id));
  const core = new PartitionCore(
    {
      kinds: [{ kind: 'overview', refreshIntervalMs: 60_000 }],
      lingerMs: 0,
      answerWithinMs: 30_000,
      maxItems: () => 1,
      maxBackoffMs: 60_000,
      repayment: new Repayment({ repaidAfterMs: 7 * 86_400_000, epochMs: () => 0 }),
      epochMs: 0,
      random: () => 0.5,
      reported: new ReportedFailures(),
    },
    { offset: 0n, instruments: [] },
    0,
  );
  const counts = { calls: 1, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };
  let nowMs = 0;
  /** The next batch, refused; it is written while `meanwhile`. */
  const refuse = (meanwhile: () => void) => {
    nowMs += 100;
    const asked = core.next(nowMs);
    assert.ok(asked.kind === 'ask');
    core.answered(asked.batch, 0, { outcomes: [{ kind: 'refused', status: 400 }], ...counts });
    const written = core.next(nowMs);
    assert.ok(written.kind === 'commit');
    meanwhile();
    core.committed(written.transaction, nowMs);
    return asked.batch;
  };
  for (const id of ids) {
    core.read(core.position, id, { kind: 'live', isin: `isin-${id}`, terms: NO_TERMS }, nowMs);
    refuse(() => core.read(core.position, id, { kind: 'gone' }, nowMs));
    const gone = core.next(nowMs);
    if (gone.kind === 'commit') core.committed(gone.transaction, nowMs);
  }
  core.read(core.position, 'last', { kind: 'live', isin: 'isin-last', terms: NO_TERMS }, nowMs);
  refuse(() => {});
  nowMs += 120_000;
  const again = core.next(nowMs);
  assert.ok(again.kind === 'ask' && again.batch.isAlone, 'it is asked for alone');
});
