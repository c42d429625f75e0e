import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogValues } from '../../../src/observe/log-values.ts';
import { createRedaction } from '../../../src/observe/redaction.ts';

function cleaned(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return createLogValues(createRedaction(), false).fields(fields);
}

test('everything becomes plain JSON values', () => {
  const given = {
    text: 'a',
    number: 1.5,
    notANumber: Number.NaN,
    big: 2n ** 63n,
    date: new Date(0),
    bytes: Buffer.from('abc'),
    map: new Map([['a', 1]]),
    set: new Set([1]),
    url: new URL('https://u:p@a.example/b?c'),
    call: () => 1,
    symbol: Symbol('a'),
    nothing: null,
  };
  assert.deepEqual(cleaned(given), {
    text: 'a',
    number: 1.5,
    notANumber: 'NaN',
    big: '9223372036854775808',
    date: '1970-01-01T00:00:00.000Z',
    bytes: '[3 bytes]',
    map: { a: 1 },
    set: [1],
    url: 'https://[redacted]@a.example/b?[redacted]',
    call: '[function]',
    symbol: '[symbol]',
    nothing: null,
  });
});

test('texts, lists, depth and the whole line are bounded', () => {
  const { text } = cleaned({ text: 'x'.repeat(1_000_000) });
  assert.equal(text, `${'x'.repeat(2_048)}… (1000000 characters)`);
  const { list } = cleaned({ list: Array.from({ length: 1_000 }, () => 1) });
  assert.ok(Array.isArray(list) && list.length === 51);
  const round: Record<string, unknown> = {};
  round.inner = round;
  assert.ok(JSON.stringify(cleaned(round)).length < 100);
  const wide = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, n]));
  const deep = Object.fromEntries(
    Object.keys(wide).map((key) => [key, Object.fromEntries(Object.keys(wide).map((k) => [k, wide]))]),
  );
  assert.ok(JSON.stringify(cleaned({ deep })).length < 50_000);
});

test('a secret at the edge of what is cut leaves no part behind', () => {
  const redaction = createRedaction();
  redaction.register('canary-7f3a-canary');
  const values = createLogValues(redaction, false);
  assert.ok(!values.text(`${'x'.repeat(2_040)}canary-7f3a-canary`).includes('canary'));
});

test('control characters in values and keys are made visible', () => {
  assert.deepEqual(cleaned({ 'a\nb': '\r\n\t\u001b[2J\u007f\u009b\u2028\u202e' }), {
    'a\\nb': '\\r\\n\\t\\u001b[2J\\u007f\\u009b\\u2028\\u202e',
  });
});

test('an error carries its facts, its causes and the errors inside, and no stack', () => {
  const inner = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  const { err } = cleaned({ err: new Error('outer', { cause: new AggregateError([inner], '', { cause: 'text' }) }) });
  assert.deepEqual(err, {
    type: 'Error',
    message: 'outer',
    cause: {
      type: 'AggregateError',
      message: '',
      errors: [{ type: 'Error', message: 'refused', code: 'ECONNREFUSED' }],
      cause: 'text',
    },
  });
});
