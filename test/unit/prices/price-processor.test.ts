import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import type { BulkPrices } from '../../../src/prices/bulk-prices.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { problem } from '../../support/priced-core.ts';
import { ALL_PRICED, INSTRUMENTS, memoryPrices, POISON, priceLogOf, TOPICS, turns, until } from './memory-prices.ts';

const ROUNDS = 60;
const LONGEST_LETTER_BYTES = 256 * 1024;
/** Records that a member reads ahead, and turns in which it does so. */
const READ_AHEAD = 20;
const MANY_TURNS = 1_000;

/** Numbers in [0, 1) that repeat exactly. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

for (const seed of [1, 2, 3, 4]) {
  test(`members that come, go and fail at any step answer every record once (seed ${seed})`, async (t) => {
    const next = numbers(seed);
    const { broker, write, start } = await memoryPrices(t);
    let failing = true;
    let failures = 0;
    const onStep = async () => {
      if (failing && next() < 0.03) {
        failures += 1;
        throw new Error('the network is gone');
      }
      if (next() < 0.2) await turns(3);
    };
    const prices: BulkPrices = {
      async ask(kind, questions, signal) {
        await turns(Math.floor(next() * 20));
        if (failing && next() < 0.1) throw new ConnectorError('PROVIDER_BUSY', 'busy', { fields: { status: 503 } });
        if (next() < 0.05 && questions.length > 1) throw new ConnectorError('BULK_MISMATCH', 'other items');
        const priced = await ALL_PRICED.ask(kind, questions, signal);
        const answers = priced.answers.map((one, at) => (questions[at]?.isin.endsWith('9') ? problem(404) : one));
        return { ...priced, answers };
      },
    };
    const join = () => start({ onStep, prices, random: next });
    let members = [join(), join()];
    for (let round = 0; round < ROUNDS; round++) {
      const records = Array.from({ length: Math.floor(next() * 6) }, () => {
        const id = `${next() < 0.03 ? 'no id ' : ''}${Math.floor(next() * INSTRUMENTS)}`;
        const kind = next();
        const text = kind < 0.2 ? '' : kind < 0.25 ? POISON : `isin-${Math.floor(next() * 20)}`;
        return [id, kind < 0.1 ? null : text] as const;
      });
      await write(...records);
      await turns(Math.floor(next() * 60));
      const chance = next();
      if (chance < 0.15) {
        const [gone, ...others] = members;
        members = [...others, join()];
        await gone?.stop();
      } else if (chance < 0.3) broker.groups.rebalance('prices', chance < 0.22 ? 1 : 0);
      else if (chance < 0.34) broker.groups.forgetFirst('prices');
      if (round % 10 === 9) assert.deepEqual(priceLogOf(broker).violations(false), [], `after round ${round}`);
    }
    failing = false;
    // Those that were forgotten do not know it: as after a stall, they are started again.
    await Promise.all(members.map((member) => member.stop()));
    join();
    await until('all is answered', () => priceLogOf(broker).violations(true).length === 0);
    assert.ok(failures > 5, `${failures} failures`);
    t.diagnostic(`${failures} failed steps of writers, ${priceLogOf(broker).results.length} results`);
  });
}

test('what is no instrument is one dead letter, cut and with its hash, and the others have their prices', async (t) => {
  const { broker, write, start } = await memoryPrices(t);
  const huge = Buffer.alloc(LONGEST_LETTER_BYTES + 1_000, POISON);
  await write(['1', 'isin-1'], ['2', huge], ['no id', 'isin-3'], ['4', 'isin-4']);
  start();
  await until('all is answered', () => priceLogOf(broker).violations(true).length === 0);
  const priced = priceLogOf(broker).results.flatMap(({ isin }) => isin ?? []);
  assert.deepEqual(new Set(priced), new Set(['isin-1', 'isin-4']));

  const dead = broker.readCommitted(TOPICS.deadLetters.name, 0);
  assert.deepEqual(dead.map(({ key }) => String(key)).sort(), ['2', 'no id']);
  const cut = dead.find(({ key }) => String(key) === '2');
  assert.ok(cut);
  assert.ok(cut.value?.equals(huge.subarray(0, LONGEST_LETTER_BYTES)));
  assert.equal(cut.headers['spc-length'], String(huge.length));
  assert.equal(cut.headers['spc-sha256'], createHash('sha256').update(huge).digest('hex'));
  assert.match(cut.headers['spc-input'] ?? '', /^instruments\/\d:\d+$/);
});

test('an instrument without a price is one dead letter for each problem, over restarts too', async (t) => {
  const ids = ['1', '2', '3', '4', '5'];
  const { broker, write, start } = await memoryPrices(t);
  await write(...ids.map((id) => [id, `isin-${id}`] as const));

  /** One life of the processor, in which everything is asked for more than once; gives the dead letters so far, and those that it logs. */
  const live = async (status: number) => {
    const counts = { drift: 0, roundedNumbers: 0 };
    const prices: BulkPrices = {
      ask: async (_, questions) => ({ ...counts, answers: questions.map(() => problem(status)) }),
    };
    const member = start({ prices });
    await until('all were asked for three times', () => member.sum('batchPriced', 'problems') >= 3 * ids.length);
    await member.stop();
    const letters = broker.readCommitted(TOPICS.deadLetters.name, 0).map(({ key }) => String(key));
    const logged = member.seen.flatMap(({ name, fields }) => (name === 'batchPriced' ? fields.dead : []));
    for (const row of logged) assert.match(row.reason, new RegExp(`with the problem status ${status}$`));
    return { letters: letters.toSorted(), logged: logged.map(({ key }: { key: string }) => key).toSorted() };
  };
  const twice = [...ids, ...ids].toSorted();
  assert.deepEqual(await live(404), { letters: ids, logged: ids }, 'each record is answered by one');
  assert.deepEqual(await live(404), { letters: ids, logged: [] });
  assert.deepEqual(await live(410), { letters: twice, logged: ids }, 'another problem is another dead letter');
  assert.deepEqual(await live(404), { letters: twice, logged: [] });
  await write(...ids.map((id) => [id, `isin-${id}`] as const));
  assert.deepEqual((await live(404)).logged, [], 'a record that comes again is answered by a letter, and not logged');
});

test('what cannot be read counts too when the writer was opened again before there was room for it', async (t) => {
  const { write, start } = await memoryPrices(t);
  const ids = Array.from({ length: 1_000 }, (_, id) => String(id)).filter(
    (id) => partitionFor(Buffer.from(id, 'utf8'), TOPICS.instruments.partitions) === 0,
  );
  const [first = '', ...others] = ids.slice(0, READ_AHEAD + 2);
  // The first one is answered at once; the last one is read, and waits for room.
  const live = others.slice(0, -1).map((id) => [id, `isin-${id}`] as const);
  await write([first, ''], ...live, [others.at(-1) ?? '', POISON]);
  const [lost, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isLost = false;
  const prices: BulkPrices = {
    async ask(...question) {
      asked.resolve();
      await lost.promise;
      if (isLost) return ALL_PRICED.ask(...question);
      isLost = true;
      throw new ConnectorError('WRITER_CLOSED', 'the writer is lost');
    },
  };
  const { named, sum } = start({ prices });
  await asked.promise;
  await turns(MANY_TURNS);
  lost.resolve();
  const isAnswered = () => sum('batchPriced', 'priced') >= READ_AHEAD && sum('batchPriced', 'deadLetters') === 1;
  await until('all are answered', isAnswered);
  assert.equal(named('partitionWriterLost').length, 1);
  assert.equal(named('recordsUnreadable').length, 1);
});

test('the processor reports how many members price together, so that they share the request limit', async (t) => {
  const { start } = await memoryPrices(t, systemClock);
  const [first, second] = [start(), start()];
  await until('both count two', () => first.members() === 2 && second.members() === 2);
  await second.stop();
  await until('the first is alone', () => first.members() === 1);
});

test('an instrument whose calls are refused beside others that are answered has its result, and counts as not answered', async (t) => {
  const { write, start } = await memoryPrices(t);
  await write(['1', 'isin-1'], ['2', 'isin-2'], ['3', 'isin-3']);
  const prices: BulkPrices = {
    async ask(_, questions) {
      if (questions.some(({ isin }) => isin === 'isin-2')) throw new ConnectorError('PROVIDER_REFUSED', 'no');
      return { drift: 0, roundedNumbers: 0, answers: questions.map(() => problem(404)) };
    },
  };
  const { sum } = start({ prices });
  await until('it has its result', () => sum('batchPriced', 'problems') > sum('batchPriced', 'answered'));
  assert.ok(sum('batchPriced', 'answered') >= 2);
});
