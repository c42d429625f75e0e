import { applyEdits, parseLossless, stringifyLossless } from '../ledger/lossless-json.ts';
import type { Page, PageRow } from '../page.ts';
import { mix } from '../universe/random.ts';
import type { Fault, PageLinks, Poison } from './fault.ts';

interface PageContext {
  readonly seed: number;
  readonly cursor: 'minId' | 'since';
  readonly self: URL;
  readonly previous: URL | undefined;
}

export function spoilPage(page: Page, faults: readonly Fault[], context: PageContext): Page {
  let spoiled = page;
  for (const fault of faults) {
    if (fault.kind === 'links') spoiled = withLinks(spoiled, fault.how, fault.url, context);
    if (fault.kind === 'poison') {
      const isHit = (row: PageRow, at: number) =>
        fault.rows?.includes(at) ??
        mix(context.seed, Number(row.id % 0xffff_fffbn)) < (fault.share ?? 0) * 0x1_0000_0000;
      const rows = spoiled.rows.map((row, at) =>
        isHit(row, at) ? { ...row, text: poison(row.text, fault.how) } : row,
      );
      spoiled = { ...spoiled, rows };
    }
  }
  return spoiled;
}

function withLinks(page: Page, how: PageLinks, url: string | undefined, context: PageContext): Page {
  if (how === 'missing') return { ...page, links: undefined };
  const cursorAs = (value: string) => {
    const changed = new URL(context.self);
    changed.searchParams.set(context.cursor, value);
    return JSON.stringify(changed.pathname + changed.search);
  };
  const own = context.self.pathname + context.self.search;
  const texts: Record<Exclude<PageLinks, 'missing'>, () => string> = {
    end: () => 'null',
    same: () => JSON.stringify(own),
    back: () => JSON.stringify(context.previous ? context.previous.pathname + context.previous.search : own),
    lower: () => cursorAs(context.cursor === 'minId' ? '1' : '1-0'),
    form: () => cursorAs('not an offset'),
    url: () => JSON.stringify(url ?? 'https://elsewhere.example.com/v1/instruments?minId=1'),
    number: () => '12345',
  };
  return { ...page, links: { ...page.links, next: texts[how]() } };
}

function poison(text: string, how: Poison): string {
  if ('text' in how) return how.text;
  if ('extraBytes' in how) return `${text.slice(0, -1)},"padding":"${'x'.repeat(how.extraBytes)}"}`;
  return stringifyLossless(applyEdits(parseLossless(text), how.edit));
}

export interface BulkResult {
  readonly isin: string;
  readonly response: string;
  readonly errorResponse: string;
}

export type BulkFault = Fault & { readonly kind: 'bulk' };
type Spoil = (results: readonly BulkResult[], at: number) => readonly BulkResult[];
const NO_ISIN = 'XS0000000009';
const OTHER_TYPE = '{"$type":"ProductDailyPriceResponse","prices":[]}';

const SPOILS: Readonly<Record<Exclude<BulkFault['how'], 'refuse' | 'flag'>, Spoil>> = {
  swap(results, at) {
    const other = at + 1 < results.length ? at + 1 : at - 1;
    return changed(changed(results, at, results[other]), other, results[at]);
  },
  drop: (results, at) => results.toSpliced(at, 1),
  add: (results, at) => results.toSpliced(at, 0, ...results.slice(at, at + 1)),
  mismatch: (results, at) => changed(results, at, { isin: results[at + 1]?.isin ?? NO_ISIN }),
  type: (results, at) => changed(results, at, { response: OTHER_TYPE, errorResponse: 'null' }),
  null: (results, at) => changed(results, at, { response: 'null', errorResponse: 'null' }),
};

export function isRefused(isins: readonly string[], faults: readonly BulkFault[]): boolean {
  return faults.some((fault) => fault.how === 'refuse' && placeOf(isins, fault) !== undefined);
}

export function bulkText(results: readonly BulkResult[], faults: readonly BulkFault[]): string {
  let spoiled = results;
  let isFlagWrong = false;
  for (const fault of faults) {
    const at = placeOf(
      spoiled.map(({ isin }) => isin),
      fault,
    );
    if (at === undefined || fault.how === 'refuse') continue;
    if (fault.how === 'flag') isFlagWrong = true;
    else spoiled = SPOILS[fault.how](spoiled, at);
  }
  const items = spoiled.map(
    ({ isin, response, errorResponse }) =>
      `{"responseIdentifier":{"isin":${JSON.stringify(isin)}},"response":${response},"errorResponse":${errorResponse}}`,
  );
  const hasErrors = spoiled.some(({ response }) => response === 'null');
  return `{"errors":${hasErrors !== isFlagWrong},"items":[${items.join(',')}]}`;
}

function placeOf(isins: readonly string[], { isins: wanted }: BulkFault): number | undefined {
  const at = wanted === undefined ? 0 : isins.findIndex((isin) => wanted.includes(isin));
  return at < 0 || at >= isins.length ? undefined : at;
}

function changed(results: readonly BulkResult[], at: number, change: Partial<BulkResult> = {}): readonly BulkResult[] {
  return results.map((result, index) => (index === at ? { ...result, ...change } : result));
}
