import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PageSize } from '../../../../src/connector/tasks/page-size.ts';
import { ConnectorError } from '../../../../src/errors.ts';

const refusal = new ConnectorError('PROVIDER_ASKS_FOR_LESS', 'too many');
const succeed = (size: PageSize, times: number) => {
  for (let count = 0; count < times; count++) size.succeeded();
};

test('every refusal halves the page, down to one item', () => {
  const size = new PageSize(1_000);
  const seen = Array.from({ length: 12 }, () => {
    size.failed(refusal);
    return size.items;
  });
  assert.deepEqual(seen, [500, 250, 125, 62, 31, 15, 7, 3, 1, 1, 1, 1]);
});

test('a size that was refused is not asked for again', () => {
  const size = new PageSize(1_000);
  size.failed(refusal);
  succeed(size, 100);
  assert.equal(size.items, 500);
});

test('after a time-out the page grows back', () => {
  const size = new PageSize(1_000);
  size.failed(new ConnectorError('PROVIDER_TIMEOUT', 'slow'));
  assert.equal(size.items, 500);
  succeed(size, 100);
  assert.equal(size.items, 1_000);
});

test('a plain 400 counts as too many, since its body is not shown by the interface', () => {
  const size = new PageSize(1_000);
  size.failed(new ConnectorError('PROVIDER_REFUSED', 'bad', { fields: { status: 400 } }));
  assert.equal(size.items, 500);
});

test('other failures leave the size alone', () => {
  const size = new PageSize(1_000);
  size.failed(new ConnectorError('PROVIDER_BUSY', 'later'));
  size.failed(new ConnectorError('PROVIDER_REFUSED', 'not found', { fields: { status: 404 } }));
  size.failed(new Error('other'));
  assert.equal(size.items, 1_000);
});
