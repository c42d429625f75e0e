import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConnectorError } from '../../../../src/errors.ts';
import { JsonScanner, readJson } from '../../../../src/records/json/json-scanner.ts';
import { JsonNumber, type JsonValue, toJsonText } from '../../../../src/records/json/json-value.ts';

async function* bodyOf(text: string | Uint8Array) {
  yield Buffer.from(text as string);
}

const parse = (text: string | Uint8Array) => readJson(bodyOf(text));

/** The value with floats for numbers, as JSON.parse gives it. */
function inexact(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(inexact);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [key, inexact(member)]));
  return value;
}

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

test('reads whatever JSON.parse reads, to the same values', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json({ stringUnit: 'binary', maxDepth: 6 }), fc.boolean(), async (text, pretty) => {
      const written = pretty ? JSON.stringify(JSON.parse(text), null, '\t') : text;
      assert.deepEqual(inexact(await parse(written)), JSON.parse(written));
    }),
    { numRuns: 500 },
  );
});

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

test('a key named __proto__ is a key like any other', async () => {
  const value = await parse('{"__proto__":{"polluted":true},"constructor":1}');
  assert.ok(value instanceof Map);
  assert.deepEqual([...value.keys()], ['__proto__', 'constructor']);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test('of duplicate keys the last wins, and they are counted at every depth', async () => {
  const text = '{"a":1,"b":{"c":1,"\\u0063":2,"c":3},"a":2}';
  assert.equal(toJsonText(await parse(text)), '{"a":2,"b":{"c":3}}');
  const scanner = new JsonScanner(100);
  scanner.append(Buffer.from(text), 1);
  scanner.skip(1, 0);
  assert.equal(scanner.duplicateKeys, 3);
});

test('lone surrogates survive as escapes, pairs become characters', async () => {
  const value = await parse('["\\ud83d\\ude00","\\ud800","x\\udc00y"]');
  assert.deepEqual(value, ['\u{1f600}', '\ud800', 'x\udc00y']);
  assert.equal(toJsonText(value), '["\u{1f600}","\\ud800","x\\udc00y"]');
});

test('nesting of 64 is read, 65 and 100,000 are refused', async () => {
  assert.ok(await accepts('['.repeat(64) + ']'.repeat(64)));
  for (const depth of [65, 100_000]) await assert.rejects(parse('['.repeat(depth)), /nesting deeper than 64/);
});

const REFUSALS: readonly { what: string; bytes: string | Uint8Array; message: RegExp }[] = [
  { what: 'nothing', bytes: '', message: /byte 0: found the end, expected a value/ },
  { what: 'HTML', bytes: '<html>', message: /byte 0: found "<", expected a value/ },
  { what: 'a byte order mark', bytes: '\ufeff{}', message: /byte 0: .*byte order mark/ },
  { what: 'NaN', bytes: '[1,NaN]', message: /byte 3: found a letter, expected a value/ },
  {
    what: 'a cut object',
    bytes: '{"a":1',
    message: /byte 6: found the end, expected a comma or the end of the object/,
  },
  { what: 'a cut string', bytes: '"abc', message: /byte 4: found the end, expected the end of the string/ },
  { what: 'a cut escape', bytes: '"a\\', message: /byte 3: found the end/ },
  {
    what: 'garbage behind the text',
    bytes: '{} x',
    message: /byte 3: found a letter, expected the end of the text/,
  },
  {
    what: 'a zero byte behind the text',
    bytes: '{}\u0000',
    message: /byte 2: found byte 0x00, expected the end of the text/,
  },
  { what: 'a leading zero', bytes: '[01]', message: /byte 2: found a digit/ },
  {
    what: 'bytes that are not UTF-8',
    bytes: Uint8Array.of(0x22, 0x61, 0xc3, 0x28, 0x22),
    message: /byte 2: found a byte that is not UTF-8/,
  },
  {
    what: 'an encoded surrogate',
    bytes: Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
    message: /byte 1: found a byte that is not UTF-8/,
  },
  {
    what: 'a cut sequence',
    bytes: Uint8Array.of(0x22, 0x61, 0xe2, 0x82),
    message: /byte 4: found the end, expected the end of the string/,
  },
];

for (const { what, bytes, message } of REFUSALS) {
  test(`refuses ${what} and says what was found at which byte`, async () => {
    await assert.rejects(parse(bytes), (error) => {
      assert.ok(error instanceof ConnectorError);
      assert.equal(error.code, 'BODY_MALFORMED');
      assert.match(error.message, message);
      return true;
    });
  });
}

test('finds the first byte that is not UTF-8 wherever it stands', async () => {
  const text = Buffer.from(`"${'a\u00e9\u20ac\u{1f600}'.repeat(50)}"`);
  for (let at = 1; at < text.length - 1; at += 7) {
    const damaged = Buffer.from(text);
    damaged[at] = 0xff;
    const message = /byte (\d+):/;
    await assert.rejects(parse(damaged), (error: Error) => {
      const found = Number(message.exec(error.message)?.[1]);
      // A sequence that the damage cuts is reported from its start.
      return found <= at && found > at - 4;
    });
  }
});
