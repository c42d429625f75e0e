import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventLines } from '../../../src/demo/event-lines.ts';

test('new issues, breaches, repayments and coupons get a line with isin and name, the rest none', () => {
  const item = (type: string | null, name: string | null = 'A note') => ({ type, name, isin: 'CH0012032048', id: '7' });
  const lines = eventLines({
    items: [
      item('newissue'),
      item('datachange'),
      item('barriercross'),
      item(null),
      item('repayment', null),
      item('couponpayment', 'x'.repeat(99)),
    ],
  });
  assert.deepEqual(lines, [
    '  new issue      CH0012032048 A note',
    '  barrier breach CH0012032048 A note',
    '  repayment      CH0012032048 instrument 7',
    `  coupon         CH0012032048 ${'x'.repeat(60)}…`,
  ]);
});
