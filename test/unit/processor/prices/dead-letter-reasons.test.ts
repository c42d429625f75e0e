import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_TERMS } from '../../../../src/avro/instrument-terms.ts';
import type { CommittedPart } from '../../../../src/processor/core/core-messages.ts';
import { priceRecords } from '../../../../src/processor/price-records.ts';

const DAY_MS = 86_400_000;
const TODAY = 20_000;

/** Why an instrument whose price was answered with this status is a dead letter. */
function reasonOf(status: number | null, repaymentDay: number | null): string | undefined {
  const topic = (name: string) => ({ name, partitions: 1 });
  const terms = { ...NO_TERMS, repaymentDay };
  const instrument = { id: '1', isin: 'isin-1', terms, row: 0, version: 0, isinChanged: false, plans: [] };
  const outcome = { kind: 'problem', status, title: null, item: Buffer.alloc(0) } as const;
  const problem = status === null ? 'none' : (`status ${status}` as const);
  const more = { problem, offsets: [], isDeadLetter: true, withdrawal: null };
  const answers = { outcomes: [], calls: 1, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 };
  const batch = { kind: 'overview', questions: [], answers };
  const part = { batch, results: [{ kind: 'failure', instrument, outcome, ...more }] } as unknown as CommittedPart;
  const { records } = priceRecords(part, {
    input: { topic: 'p.instruments', partition: 0 },
    targets: {
      prices: new Map([['overview', topic('p.prices')]]),
      deadLetters: topic('p.dead-letters'),
      endpoint: '/',
    },
    windows: new Map(),
    wallMs: TODAY * DAY_MS + 3_600_000,
  });
  return records[0]?.headers['__connect.errors.exception.message'];
}

test('the dead letter of a product without a price says whether that is as it should be', () => {
  const answered = 'it answered with the problem status 404';
  assert.equal(reasonOf(404, null), `the provider gave no price for this product: ${answered}`);
  assert.equal(reasonOf(404, TODAY + 1), `the provider gave no price for this product: ${answered}`);
  const repaid = 'the provider gave no price for this product, whose repaymentDate has come';
  assert.equal(reasonOf(404, TODAY), `${repaid}: ${answered}`);
  assert.equal(reasonOf(null, TODAY - 9), `${repaid}: it answered without a reason`);
});
