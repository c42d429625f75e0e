import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchedWhileSent } from '../../../../../src/kafka/kafkajs/patches/request-timeouts.ts';

/** A queue of requests whose time-out is 10 s, and a clock that moves by hand. */
function queueAt({ enforceRequestTimeout = true } = {}) {
  let nowMs = 1_000_000;
  let setBackMs = 0;
  let looked = 0;
  const looks: { readonly atMs: number; readonly look: () => void }[] = [];
  const inflight = new Map<number, { sentAt: number; requestTimeout: number; timeoutRequest: () => void }>();
  const late: number[] = [];
  const queue = { enforceRequestTimeout, requestTimeout: 10_000, inflight };
  const send = watchedWhileSent(
    (id) => {
      const timeoutRequest = () => {
        inflight.delete(Number(id));
        late.push(Number(id));
      };
      inflight.set(Number(id), {
        sentAt: nowMs - setBackMs,
        requestTimeout: Number(id) === 2 ? 60_000 : 10_000,
        timeoutRequest,
      });
    },
    { wallMs: () => nowMs - setBackMs },
    (ms, look) => void looks.push({ atMs: nowMs + ms, look }),
  );
  return {
    late,
    looks,
    looked: () => looked,
    setBack: (ms: number) => {
      setBackMs += ms;
    },
    send: (id: number) => send.call(queue, id),
    answer: (id: number) => inflight.delete(id),
    pass(ms: number) {
      const untilMs = nowMs + ms;
      for (;;) {
        const next = looks.findIndex(({ atMs }) => atMs <= untilMs);
        const [due] = next < 0 ? [] : looks.splice(next, 1);
        if (due === undefined) break;
        nowMs = Math.max(nowMs, due.atMs);
        looked += 1;
        due.look();
      }
      nowMs = untilMs;
    },
  };
}

test('a connection without requests is not looked at; one whose requests were answered, once more', () => {
  const { send, answer, pass, looks, late } = queueAt();
  assert.equal(looks.length, 0);
  for (const id of [1, 3, 4]) {
    send(id);
    answer(id);
  }
  assert.equal(looks.length, 1);
  pass(11_000);
  assert.equal(looks.length, 0);
  send(5);
  assert.equal(looks.length, 1, 'and again with the next request');
  assert.deepEqual(late, []);
});

test('a connection that always has a request under way is looked at once per time-out, and misses no late one', () => {
  const { send, answer, pass, looked, late } = queueAt();
  send(100);
  for (let id = 101; id < 160; id++) {
    pass(1_000);
    send(id);
    answer(id - 1);
  }
  assert.deepEqual(late, []);
  assert.ok(looked() <= 7, `${looked()} looks within a minute`);
  pass(10_000);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, [159]);
});

test('a clock that was set back keeps no request for longer than it was set back', () => {
  const { send, pass, setBack, late } = queueAt();
  send(1);
  setBack(15_000);
  pass(25_000);
  assert.deepEqual(late, []);
  pass(10_000);
  assert.deepEqual(late, [1]);
});

test('a request without a response is late after its own time-out', () => {
  const { send, pass, looks, late } = queueAt();
  send(1);
  send(2);
  pass(10_000);
  assert.deepEqual(late, []);
  pass(100);
  assert.deepEqual(late, [1]);
  pass(49_800);
  assert.deepEqual(late, [1]);
  pass(200);
  assert.deepEqual(late, [1, 2]);
  assert.equal(looks.length, 0);
});

test('where time-outs are not enforced, nothing is looked at', () => {
  const { send, looks } = queueAt({ enforceRequestTimeout: false });
  send(1);
  assert.equal(looks.length, 0);
});
