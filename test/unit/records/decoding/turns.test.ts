import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListDecoder } from '../../../../src/records/decoding/list-decoder.ts';
import { objectPlan } from '../../../../src/records/decoding/plan.ts';

const LONG_BYTES = 500 * 1024;
const PIECE_BYTES = 32 * 1024;

test('a long row is read in one turn of the event loop, its record made in another, and what follows read in a third', async () => {
  const rows = [LONG_BYTES, 100, LONG_BYTES, LONG_BYTES, 100].map((bytes) => `{"text":"${'x'.repeat(bytes)}"}`);
  const body = Buffer.from(`{"rows":[${rows.join()}]}`);
  let turn = 0;
  let timer = setImmediate(function next() {
    turn += 1;
    timer = setImmediate(next);
  });
  const askedIn: number[] = [];
  const madeIn: { bytes: number; turn: number; askedIn: number }[] = [];
  const list = new ListDecoder<string, null>({
    listKey: 'rows',
    plan: objectPlan('', []),
    key: null,
    // No time passes: where a turn ends depends on the bytes alone.
    clock: { monotonicMs: () => 0 },
    rowDecoder: () => (start, end) => {
      madeIn.push({ bytes: end - start, turn, askedIn: askedIn.at(-1) ?? -1 });
      return 'row';
    },
  });
  async function* pieces() {
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      askedIn.push(turn);
      yield body.subarray(at, at + PIECE_BYTES);
    }
    askedIn.push(turn);
  }
  const { rows: decoded } = await list.decode(pieces(), null);
  clearImmediate(timer);
  assert.equal(decoded.length, rows.length);
  const long = madeIn.filter(({ bytes }) => bytes > LONG_BYTES);
  assert.equal(long.length, 3);
  for (const made of long) {
    assert.ok(made.turn > made.askedIn, `made in the turn that read it: ${JSON.stringify(made)}`);
    const next = askedIn.find((asked) => asked >= made.turn) ?? assert.fail('more was asked for');
    assert.ok(next > made.turn, `more was read in the turn that made its record: ${JSON.stringify(made)}`);
  }
});
