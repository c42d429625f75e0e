import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { listTable } from '../../../../src/commands/shell/output.ts';

test('where a terminal is too narrow for a table, each value has its line, and no word is cut', () => {
  const of = (size: { isTTY?: boolean; columns?: number }) => Object.assign(new Writable(), size);
  const rows = [
    ['1', 'instruments', 'a reason of some words'],
    ['2', '', 'another'],
  ];
  const shown = (size: { isTTY?: boolean; columns?: number }) => listTable(of(size), ['id', 'source', 'reason'], rows);
  assert.equal(shown({}).split('\n')[0], 'id  source       reason');
  assert.equal(shown({ isTTY: true, columns: 80 }), shown({}));
  const expected = 'id      1\nsource  instruments\nreason  a reason of some\nwords\n\nid      2\nreason  another\n';
  assert.equal(shown({ isTTY: true, columns: 25 }), expected);
  assert.equal(listTable(of({}), ['id'], []), '');
});
