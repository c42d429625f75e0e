import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { keyedRecord } from '../../../src/kafka/record.ts';
import type { BulkPrices } from '../../../src/prices/bulk-prices.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster, type MemoryStep } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { INSTRUMENTS, memberOf, POISON, priceLogOf, TOPICS } from './memory-prices.ts';

const ROUNDS = 60;
const PATIENCE_MS = 300_000;

/** Numbers in [0, 1) that repeat exactly. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const settle = (turns: number) =>
  (async () => {
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  })();

for (const seed of [1, 2, 3, 4]) {
  test(`members that come, go and fail at any step answer every record once (seed ${seed})`, async (t) => {
    const next = numbers(seed);
    const clock = skippingClock();
    const broker = new MemoryBroker(clock.wallMs);
    for (const topic of Object.values(TOPICS)) broker.createTopic(topic);
    const source = createMemoryCluster({ broker }).transactionalWriter('source');
    await source.open(async () => {}, new AbortController().signal);
    let failing = true;
    let failures = 0;
    const onStep = async (_step: MemoryStep) => {
      if (failing && next() < 0.03) {
        failures += 1;
        throw new Error('the network is gone');
      }
      if (next() < 0.2) await settle(3);
    };
    const prices: BulkPrices = {
      async ask(_kind, questions) {
        await settle(Math.floor(next() * 20));
        if (failing && next() < 0.1) throw new ConnectorError('PROVIDER_BUSY', 'busy', { fields: { status: 503 } });
        if (next() < 0.05 && questions.length > 1) throw new ConnectorError('BULK_MISMATCH', 'other items');
        const answers = questions.map(({ instrumentId, isin }) => {
          const record = { key: Buffer.from(instrumentId), value: Buffer.from(isin), digest: 0n };
          if (isin.endsWith('9'))
            return { kind: 'problem' as const, status: 404, title: null, item: Buffer.from('{}') };
          return { kind: 'prices' as const, records: [record], isQuotingPulled: null };
        });
        return { answers, errorsFlagDiffers: false, drift: 0, roundedNumbers: 0 };
      },
    };
    const start = () => memberOf({ broker, clock, onStep, prices, random: next });
    let members = [start(), start()];
    t.after(() => Promise.all(members.map((member) => member.stop())));

    for (let round = 0; round < ROUNDS; round++) {
      const records = Array.from({ length: Math.floor(next() * 6) }, () => {
        const id = `${next() < 0.03 ? 'no id ' : ''}${Math.floor(next() * INSTRUMENTS)}`;
        const kind = next();
        const text = kind < 0.2 ? '' : kind < 0.25 ? POISON : `isin-${Math.floor(next() * 20)}`;
        const value = kind < 0.1 ? null : Buffer.from(text);
        return keyedRecord(TOPICS.instruments, id, value, {});
      });
      await source.commit({ records });
      await settle(Math.floor(next() * 60));
      const chance = next();
      if (chance < 0.15) {
        const [gone, ...others] = members;
        members = [...others, start()];
        await gone?.stop();
      } else if (chance < 0.3) broker.groups.rebalance('prices', chance < 0.22 ? 1 : 0);
      else if (chance < 0.34) broker.groups.forgetFirst('prices');
      if (round % 10 === 9) assert.deepEqual(priceViolations(broker, false), [], `after round ${round}`);
    }
    failing = false;
    // Those that were forgotten do not know it: as after a stall, they are started again.
    await Promise.all(members.map((member) => member.stop()));
    members = [start()];
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (priceViolations(broker, true).length > 0 && performance.now() < deadlineMs) await settle(50);
    assert.deepEqual(priceViolations(broker, true), []);
    assert.ok(failures > 5, `${failures} failures`);
    t.diagnostic(`${failures} failed steps of writers, ${priceLogOf(broker).results.length} results`);
  });
}

/** `isAtRest`: everything must have been answered. */
function priceViolations(broker: MemoryBroker, isAtRest: boolean): string[] {
  const log = priceLogOf(broker);
  return log.violations(isAtRest);
}
