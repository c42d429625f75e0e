import { digits, mix } from './random.ts';

/** How prices move: pure functions of an instrument's key and time, in thousandths. */

/** How many steps a slow swing takes. */
const SWING_STEPS = 60;

/** The price at a step, in thousandths; always above zero. */
export function priceAt(key: number, step: number): number {
  const base = 10_000 + (key % 150_000);
  return base + (mix(key, Math.floor(step / SWING_STEPS)) % 3_000) + (mix(key ^ 0x77, step) % 250);
}

/** Thousandths as decimal text; some instruments quote with trailing zeros, with 18 or with 28 fraction digits. */
export function priceText(key: number, thousandths: number, salt: number): string {
  const plain = `${Math.floor(thousandths / 1_000)}.${String(thousandths % 1_000).padStart(3, '0')}`;
  const style = key % 16;
  if (style === 5) return `${plain}${digits(mix(key, thousandths), salt, 24)}7`;
  if (style % 4 === 0) return `${plain}${digits(mix(key, thousandths), salt, 15)}`;
  return style % 4 === 1 ? `${plain}000` : plain;
}

/** An instant in one of the forms of ISO 8601 that providers use: seconds, seven digits, or an offset. */
export function momentText(key: number, ms: number): string {
  const text = new Date(ms).toISOString();
  if (key % 3 === 0) return `"${text.slice(0, 19)}Z"`;
  if (key % 3 === 1) return `"${text.slice(0, 23)}${digits(key, ms % 997, 4)}Z"`;
  return `"${text.slice(0, 23)}+00:00"`;
}

/** Opening, highest, lowest and closing price between two steps, in thousandths. */
export function candle(key: number, firstStep: number, lastStep: number) {
  const [open, close] = [priceAt(key, firstStep), priceAt(key, lastStep)];
  const spread = mix(key, firstStep) % 400;
  return { open, high: Math.max(open, close) + spread, low: Math.max(1, Math.min(open, close) - spread), close };
}
