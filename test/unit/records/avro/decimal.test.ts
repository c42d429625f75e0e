import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decimalText, encodeDecimal } from '../../../../src/records/avro/decimal.ts';

const encode = (text: string, scale = 18) => encodeDecimal(text, { precision: 38, scale });
const UNIT = 10n ** 18n;
const LIMIT = 10n ** 38n;

/** Digits behind the point as a separate oracle sees them: the number as a fraction of two big integers. */
function roundedHalfEven(numerator: bigint, denominator: bigint): { unscaled: bigint; exact: boolean } {
  const scaled = (numerator < 0n ? -numerator : numerator) * UNIT;
  const [quotient, rest] = [scaled / denominator, scaled % denominator];
  const up = rest * 2n > denominator || (rest * 2n === denominator && quotient % 2n === 1n);
  const magnitude = quotient + (up ? 1n : 0n);
  return { unscaled: numerator < 0n ? -magnitude : magnitude, exact: rest === 0n };
}

const unscaledOf = (bytes: Buffer) => BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));

const isMinimal = (bytes: Buffer) =>
  bytes.length === 1 || !((bytes[0] === 0 && (bytes[1] ?? 0) < 0x80) || (bytes[0] === 0xff && (bytes[1] ?? 0) >= 0x80));

const numberText = fc
  .record({
    negative: fc.boolean(),
    integer: fc.oneof(fc.bigInt({ min: 0n, max: 999n }), fc.bigInt({ min: 0n, max: 10n ** 22n })),
    fraction: fc.oneof(
      fc.constant(''),
      fc.stringMatching(/^\d{1,4}$/),
      fc.stringMatching(/^\d{15,30}$/),
      fc.stringMatching(/^\d{18}50{0,6}$/),
    ),
    exponent: fc.option(fc.integer({ min: -30, max: 30 })),
  })
  .map(({ negative, integer, fraction, exponent }) => ({
    text: `${negative ? '-' : ''}${integer}${fraction === '' ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`,
    numerator: BigInt(`${integer}${fraction}`) * 10n ** BigInt(Math.max(exponent ?? 0, 0)) * (negative ? -1n : 1n),
    denominator: 10n ** BigInt(fraction.length + Math.max(-(exponent ?? 0), 0)),
  }));

test('every number gives the nearest decimal, ties to even, in as few bytes as it takes', () => {
  const seen = { exact: 0, rounded: 0, refused: 0 };
  fc.assert(
    fc.property(numberText, ({ text, numerator, denominator }) => {
      const encoded = encode(text);
      const { unscaled, exact } = roundedHalfEven(numerator, denominator);
      if (unscaled >= LIMIT || unscaled <= -LIMIT) {
        assert.equal(encoded, null, text);
        seen.refused += 1;
        return;
      }
      assert.ok(encoded, text);
      assert.equal(unscaledOf(encoded.bytes), unscaled, text);
      assert.equal(encoded.rounded, !exact, text);
      assert.ok(isMinimal(encoded.bytes), `${text} gives ${encoded.bytes.toString('hex')}`);
      seen[exact ? 'exact' : 'rounded'] += 1;
    }),
    { numRuns: 20_000 },
  );
  for (const [kind, count] of Object.entries(seen)) assert.ok(count > 500, `${kind}: ${count}`);
});

test('a short text cannot ask for much work, nor a long one for more than its length', () => {
  const before = process.cpuUsage();
  assert.equal(encode('1e999999999'), null);
  assert.equal(encode(`1e${'9'.repeat(1_000_000)}`), null);
  assert.equal(encode('9'.repeat(1_000_000)), null);
  assert.equal(encode(`1e-${'9'.repeat(1_000_000)}`)?.rounded, true);
  assert.equal(encode(`1.${'0'.repeat(1_000_000)}`)?.rounded, false);
  assert.equal(encode(`1.${'0'.repeat(1_000_000)}1`)?.rounded, true);
  assert.equal(encode(`0.${'01'.repeat(500_000)}`)?.rounded, true);
  assert.ok(process.cpuUsage(before).user < 20_000_000);
});

test('the text of a decimal is the number itself', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -LIMIT + 1n, max: LIMIT - 1n }), fc.nat(18), (unscaled, shift) => {
      const number = unscaled / 10n ** BigInt(shift);
      const bytes = encode(`${number}e-18`)?.bytes;
      assert.ok(bytes);
      const text = decimalText(bytes, 18);
      assert.match(text, /^-?(0|[1-9]\d*)(\.\d*[1-9])?$/);
      assert.deepEqual(encode(text)?.bytes, bytes);
    }),
    { numRuns: 1_000 },
  );
});
