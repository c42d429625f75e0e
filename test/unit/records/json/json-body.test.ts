import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConnectorError } from '../../../../src/errors.ts';
import { readJson } from '../../../../src/records/json/json-scanner.ts';
import { toJsonText } from '../../../../src/records/json/json-value.ts';

async function* bodyOf(text: string) {
  yield Buffer.from(text);
}

const parse = (text: string) => readJson(bodyOf(text));

const accepts = async (text: string): Promise<boolean> => {
  try {
    await parse(text);
    return true;
  } catch (error) {
    assert.ok(error instanceof ConnectorError && error.code === 'BODY_MALFORMED', String(error));
    return false;
  }
};

const nativeAccepts = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test('accepts a damaged text exactly when JSON.parse does', async () => {
  const seeds = [
    '{"a":[1,-0.5e+3,"x\\u00e9\\n",true,false,null],"b":{}}',
    ' [ "\\ud83d\\ude00" , 10 , 0 , -1E-7 , [ ] ] ',
    '{"a":{"a":"\u00e9\u20ac\u{1f600}"}}',
  ];
  const damage = fc.record({
    seed: fc.constantFrom(...seeds),
    at: fc.nat(80),
    cut: fc.nat(3),
    paste: fc.constantFrom(
      '',
      '"',
      '\\',
      ',',
      ':',
      '[',
      ']',
      '{',
      '}',
      '0',
      '1',
      '.',
      'e',
      '-',
      '+',
      'n',
      '\u0000',
      '\u0001',
      ' ',
      '\n',
      '\ufeff',
      '\\u12',
      '\\x',
      'NaN',
      '/',
    ),
  });
  let [accepted, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(damage, async ({ seed, at, cut, paste }) => {
      const text = seed.slice(0, at) + paste + seed.slice(at + cut);
      const expected = nativeAccepts(text);
      assert.equal(await accepts(text), expected, JSON.stringify(text));
      if (expected) accepted += 1;
      else refused += 1;
    }),
    { numRuns: 5_000 },
  );
  assert.ok(accepted > 200 && refused > 200, `${accepted} accepted, ${refused} refused`);
});

test('numbers stay as they were written', async () => {
  const text = '[1.0,1.00,1e0,9007199254740993,-0,0E-8,1E400,0.1234567890123456789012345678]';
  assert.equal(toJsonText(await parse(text)), text);
});

test('nesting of 64 is read, 65 and 100,000 are refused', async () => {
  assert.ok(await accepts('['.repeat(64) + ']'.repeat(64)));
  for (const depth of [65, 100_000]) await assert.rejects(parse('['.repeat(depth)), /nesting deeper than 64/);
});
