import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NetworkFiles, openCurrentFiles } from '../../../../src/provider/http/current-files.ts';
import { keepingLog } from './loopback.ts';

async function scene() {
  const state = { nowMs: 0, looks: 0, files: { ca: 'one' } as NetworkFiles, log: keepingLog() };
  const files = await openCurrentFiles({
    name: 'marketData',
    async read() {
      state.looks += 1;
      if (state.files.ca === 'missing') throw new Error('/ca.pem cannot be read');
      return { ...state.files };
    },
    make(found) {
      if (found.ca === 'broken') throw new Error('no PEM');
      return { made: found.ca };
    },
    clock: { monotonicMs: () => state.nowMs },
    log: state.log,
  });
  return { state, files };
}

test('files are looked at once a second at most, and what was made of them stays while they do', async () => {
  const { state, files } = await scene();
  const first = await files.get();
  assert.deepEqual([first, state.looks], [{ made: 'one' }, 1]);
  state.nowMs = 1_000;
  assert.equal(await files.get(), first);
  assert.equal(await files.get(), first);
  assert.equal(state.looks, 2);
  state.files = { ca: 'two' };
  assert.equal(await files.get(), first);
  state.nowMs = 2_000;
  assert.deepEqual(await Promise.all([files.get(), files.get()]), [{ made: 'two' }, { made: 'two' }]);
  assert.equal(state.looks, 3);
});

test('files that cannot be read or used are one warning for each fault, and the last good ones stay', async () => {
  const { state, files } = await scene();
  const good = await files.get();
  for (const ca of ['broken', 'broken', 'missing', 'missing', 'broken']) {
    state.files = { ca };
    state.nowMs += 1_000;
    assert.equal(await files.get(), good);
  }
  const problems = state.log.lines.map((line) => /"problem":"([^"]*)"/.exec(line)?.[1]);
  assert.deepEqual(problems, ['no PEM', '/ca.pem cannot be read', 'no PEM']);
  state.files = { ca: 'two' };
  state.nowMs += 1_000;
  assert.deepEqual(await files.get(), { made: 'two' });
});

test('code that cannot wait gets what was made last, and has the files looked at for the next time', async () => {
  const { state, files } = await scene();
  state.files = { ca: 'two' };
  state.nowMs = 1_000;
  assert.deepEqual(files.latest(), { made: 'one' });
  await files.get();
  assert.deepEqual(files.latest(), { made: 'two' });
});
