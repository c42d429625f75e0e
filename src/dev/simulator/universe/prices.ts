import type { SimulatedPriceQuery } from '../price-query.ts';
import { dayText } from './calendar.ts';
import { digits, mix } from './random.ts';

const SWING_STEPS = 60;
const STEP_MS = 1_000;

/**
 * The JSON text of a typed response (part 2.1 of src/provider/README.md). The text depends only on the instrument's
 * key, the query and the time.
 */
export type PriceWriter = (key: number, query: SimulatedPriceQuery, nowMs: number) => string;

const DAY_MS = 86_400_000;
const INTRADAY_HISTORY_MS = DAY_MS;
const DAILY_HISTORY_DAYS = 400;
const INTERVAL_MS: Readonly<Record<string, number>> = { Minute_5: 300_000, Hour_1: 3_600_000 };

export function createPriceWriter(): PriceWriter {
  const moves = createMoves();
  return (key, query, nowMs) => {
    if (query.kind === 'overview') return overview(key, query.fields, nowMs, moves);
    return query.kind === 'intraday' ? intraday(key, query, nowMs, moves) : daily(key, query, nowMs, moves);
  };
}

type Moves = ReturnType<typeof createMoves>;

function createMoves() {
  const stepOf = (ms: number) => Math.floor(ms / STEP_MS);
  const ohlc = (key: number, fromMs: number, toMs: number) => {
    const { open, high, low, close } = candle(key, stepOf(fromMs), stepOf(toMs));
    return {
      open: priceText(key, open, 1),
      high: priceText(key, high, 2),
      low: priceText(key, low, 3),
      close: priceText(key, close, 4),
    };
  };
  const bidAsk = (key: number, ms: number) => {
    const price = priceAt(key, stepOf(ms));
    const size = String((mix(key, stepOf(ms)) % 50) * 100);
    return { bid: priceText(key, price, 5), bidSize: size, ask: priceText(key, price + 15, 6), askSize: `${size}.0` };
  };
  const accrued = (key: number, ms: number) =>
    `0.${digits(mix(key, Math.floor(ms / DAY_MS)), 8, key % 7 === 0 ? 27 : 9)}1`;
  return { STEP_MS, stepOf, ohlc, bidAsk, accrued };
}

function overview(key: number, fields: readonly string[], nowMs: number, moves: Moves): string {
  const asked = (field: string) => fields.length === 0 || fields.includes(field);
  const { stepOf, ohlc, bidAsk, accrued } = moves;
  const observedMs = stepOf(nowMs) * moves.STEP_MS;
  const dayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const at = (ms: number) => momentText(key, ms);
  const today = ohlc(key, dayMs, nowMs);
  const members: string[] = [];
  const price = (field: string, name: string, value: string, ms: number) => {
    const given = asked(field);
    members.push(`"${name}":${given ? value : 'null'}`, `"${name}ObservedAtTimestamp":${given ? at(ms) : 'null'}`);
  };
  // In 5 % of the periods of 30 s, the market maker gives no quotes. Then `lastPrice` has neither bid nor ask.
  const pulled = mix(key, Math.floor(stepOf(nowMs) / 30)) % 20 === 0;
  const sides = pulled ? { bid: 'null', bidSize: 'null', ask: 'null', askSize: 'null' } : bidAsk(key, nowMs);
  const quote = object({ ...sides, isQuotingPulled: String(pulled), observedAtTimestamp: at(observedMs) });
  members.push(`"lastPrice":${asked('LastPrice') ? quote : 'null'}`);
  price('LastOpen', 'lastOpen', today.open, dayMs);
  price('LastHigh', 'lastDayHigh', today.high, observedMs);
  price('LastLow', 'lastDayLow', today.low, observedMs);
  price('LastClose', 'lastClose', priceText(key, priceAt(key, stepOf(dayMs - 1)), 4), dayMs - 1_000);
  members.push(`"lastCloseMethod":${asked('LastClose') ? closeMethod(key, dayMs) : 'null'}`);
  price(
    'DailyPerformanceBasePrice',
    'dailyPerformanceBasePrice',
    priceText(key, priceAt(key, stepOf(dayMs)), 9),
    dayMs,
  );
  price(
    'YTDPerformanceBasePrice',
    'ytdPerformanceBasePrice',
    priceText(key, 10_000 + (key % 150_000), 10),
    yearMs(nowMs),
  );
  price('LastAccruedInterest', 'lastAccruedInterest', accrued(key, nowMs), dayMs);
  return `{"$type":"ProductPriceOverviewResponse",${members.join(',')}}`;
}

function intraday(key: number, query: SimulatedPriceQuery & { kind: 'intraday' }, nowMs: number, moves: Moves): string {
  const { ohlc, bidAsk } = moves;
  const lengthMs = INTERVAL_MS[query.interval] ?? DAY_MS;
  const fromMs = Math.max(query.fromMs ?? 0, nowMs - INTRADAY_HISTORY_MS);
  const toMs = Math.min(query.toMs ?? nowMs, nowMs);
  const rows: string[] = [];
  for (let openMs = Math.ceil(fromMs / lengthMs) * lengthMs; openMs <= toMs; openMs += lengthMs) {
    const untilMs = Math.min(openMs + lengthMs - 1, nowMs);
    const { open, high, low, close } = ohlc(key, openMs, untilMs);
    const prices = { Close: { close }, OHLC: { open, high, low, close }, BidAsk: bidAsk(key, untilMs) }[query.fields];
    const window = {
      windowOpenTimestamp: momentText(0, openMs),
      windowCloseTimestamp: momentText(0, openMs + lengthMs),
    };
    rows.push(object({ ...window, ...NO_PRICES, ...prices }));
  }
  return `{"$type":"ProductIntradayPriceResponse","prices":[${rows.join(',')}]}`;
}

function daily(key: number, query: SimulatedPriceQuery & { kind: 'daily' }, nowMs: number, moves: Moves): string {
  const { ohlc, bidAsk, accrued } = moves;
  const today = Math.floor(nowMs / DAY_MS);
  const rows: string[] = [];
  for (let day = today - DAILY_HISTORY_DAYS; day <= today; day++) {
    const [dayMs, date] = [day * DAY_MS, dayText(day * DAY_MS)];
    // Weekends have no prices. 1970-01-01 (day 0) was a Thursday.
    if ((day + 4) % 7 === 0 || (day + 4) % 7 === 6) continue;
    if ((query.from !== null && date < query.from) || (query.to !== null && date > query.to)) continue;
    const untilMs = Math.min(dayMs + DAY_MS - 1, nowMs);
    const { open, high, low, close } = ohlc(key, dayMs, untilMs);
    const bothSides = bidAsk(key, untilMs);
    const accruedInterest = accrued(key, dayMs);
    const closing = { close, closeMethod: closeMethod(key, dayMs) };
    const prices = {
      Close: closing,
      CloseAccruedInterest: { ...closing, accruedInterest },
      OHLC: { open, high, low, ...closing },
      LastBidAsk: bothSides,
      LastBidAskAccruedInterest: { ...bothSides, accruedInterest },
    }[query.fields];
    const window = {
      windowOpenTimestamp: momentText(0, dayMs + 28_800_000),
      windowCloseTimestamp: momentText(0, dayMs + 63_000_000),
    };
    const windows = query.fields === 'OHLC' ? window : { windowOpenTimestamp: 'null', windowCloseTimestamp: 'null' };
    rows.push(
      object({
        date: `"${date}"`,
        ...windows,
        ...NO_PRICES,
        closeMethod: 'null',
        accruedInterest: 'null',
        ...prices,
      }),
    );
  }
  if (!query.ascending) rows.reverse();
  return `{"$type":"ProductDailyPriceResponse","prices":[${rows.slice(0, query.count ?? rows.length).join(',')}]}`;
}

const NO_PRICES = {
  open: 'null',
  high: 'null',
  low: 'null',
  close: 'null',
  bid: 'null',
  bidSize: 'null',
  ask: 'null',
  askSize: 'null',
};

function object(members: Readonly<Record<string, string>>): string {
  return `{${Object.entries(members)
    .map(([name, text]) => `"${name}":${text}`)
    .join(',')}}`;
}

function closeMethod(key: number, dayMs: number): string {
  return ['"Last"', '"Close"', '"Valuation"'][mix(key, dayMs / DAY_MS) % 3] ?? 'null';
}

function yearMs(nowMs: number): number {
  return Date.UTC(new Date(nowMs).getUTCFullYear(), 0, 1);
}

function priceAt(key: number, step: number): number {
  const base = 10_000 + (key % 150_000);
  return base + (mix(key, Math.floor(step / SWING_STEPS)) % 3_000) + (mix(key ^ 0x77, step) % 250);
}

/** Converts thousandths to decimal text. Some instruments have trailing zeros, or 18 or 28 fraction digits. */
function priceText(key: number, thousandths: number, salt: number): string {
  const plain = `${Math.floor(thousandths / 1_000)}.${String(thousandths % 1_000).padStart(3, '0')}`;
  const style = key % 16;
  if (style === 5) return `${plain}${digits(mix(key, thousandths), salt, 24)}7`;
  if (style % 4 === 0) return `${plain}${digits(mix(key, thousandths), salt, 15)}`;
  return style % 4 === 1 ? `${plain}000` : plain;
}

/** A time in one of the ISO 8601 forms of providers: in whole seconds, with seven decimals, or with a zone `+00:00`. */
function momentText(key: number, ms: number): string {
  const text = new Date(ms).toISOString();
  if (key % 3 === 0) return `"${text.slice(0, 19)}Z"`;
  if (key % 3 === 1) return `"${text.slice(0, 23)}${digits(key, ms % 997, 4)}Z"`;
  return `"${text.slice(0, 23)}+00:00"`;
}

/** Opening, highest, lowest and closing price between two steps, in thousandths. */
function candle(key: number, firstStep: number, lastStep: number) {
  const [open, close] = [priceAt(key, firstStep), priceAt(key, lastStep)];
  const spread = mix(key, firstStep) % 400;
  return { open, high: Math.max(open, close) + spread, low: Math.max(1, Math.min(open, close) - spread), close };
}
