import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import { PageSize } from '../../../../src/sources/tasks/instruments-provider.ts';

const refusal = new ConnectorError('PROVIDER_ASKS_FOR_LESS', 'too many');

/** Asks so many times, each time with this failure or with success; gives the sizes that were asked for. */
async function ask(size: PageSize, times: number, failure?: Error): Promise<number[]> {
  const asked: number[] = [];
  for (let count = 0; count < times; count++) {
    const answer = size.ask(async (items) => {
      asked.push(items);
      if (failure) throw failure;
      return 'answer';
    });
    if (failure) await assert.rejects(answer, failure);
    else assert.equal(await answer, 'answer');
  }
  return asked;
}

test('every refusal halves the page, down to one item', async () => {
  assert.deepEqual(await ask(new PageSize(1_000), 10, refusal), [1_000, 500, 250, 125, 62, 31, 15, 7, 3, 1]);
});

test('a size that was refused is not asked for again', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, refusal);
  assert.deepEqual(new Set(await ask(size, 100)), new Set([500]));
});

test('where even one item is refused the size was not the reason, and pages are whole again afterwards', async () => {
  const size = new PageSize(1_000);
  await ask(size, 10, refusal);
  assert.deepEqual(await ask(size, 3), [1_000, 1_000, 1_000]);
});

test('after a time-out the page grows back', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, new ConnectorError('PROVIDER_TIMEOUT', 'slow'));
  const asked = await ask(size, 100);
  assert.deepEqual([asked[0], asked.at(-1)], [500, 1_000]);
});

test('a plain 400 counts as too many, since its body is not shown by the interface', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, new ConnectorError('PROVIDER_REFUSED', 'bad', { fields: { status: 400 } }));
  assert.deepEqual(await ask(size, 1), [500]);
});

test('other failures leave the size alone', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, new ConnectorError('PROVIDER_BUSY', 'later'));
  await ask(size, 1, new ConnectorError('PROVIDER_REFUSED', 'not found', { fields: { status: 404 } }));
  await ask(size, 1, new Error('other'));
  assert.deepEqual(await ask(size, 1), [1_000]);
});

test('a provider that says how much one answer holds is asked for that, and now and then for more', async () => {
  const size = new PageSize(500);
  size.named(15, 15);
  assert.deepEqual(await ask(size, 11), [...Array(10).fill(15), 30]);
  size.named(15, 15);
  assert.deepEqual(await ask(size, 1), [15]);
});

test('what an answer says of its size is not believed where it holds more, nor followed upwards', async () => {
  const size = new PageSize(500);
  size.named(1, 2);
  size.named(1_000, 0);
  size.named(null, 0);
  assert.deepEqual(await ask(size, 1), [500]);
});

test('a response that cannot be read is closed in on where items can be spoiled, and grows back behind the bad one', async () => {
  const malformed = new ConnectorError('BODY_MALFORMED', 'not JSON');
  const size = new PageSize(8, true);
  assert.deepEqual(await ask(size, 6, malformed), [8, 4, 2, 1, 1, 1], 'the bad item stays alone');
  await ask(size, 60);
  assert.deepEqual(await ask(size, 1), [8]);
  assert.deepEqual(await ask(new PageSize(8), 3, malformed), [8, 8, 8], 'a page of the list holds nothing before it');
});
