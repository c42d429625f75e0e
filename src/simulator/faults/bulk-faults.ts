import type { Fault } from './fault.ts';

/** One result of a bulk response, as JSON texts. */
export interface BulkResult {
  readonly isin: string;
  readonly response: string;
  readonly errorResponse: string;
}

export type BulkFault = Fault & { readonly kind: 'bulk' };

type Spoil = (results: readonly BulkResult[], at: number) => readonly BulkResult[];

const NO_ISIN = 'XS0000000009';
const OTHER_TYPE = '{"$type":"ProductDailyPriceResponse","prices":[]}';
const FAILED = { response: 'null', errorResponse: '{"title":"Internal Server Error","status":500}' };

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
  failAll: (results) => results.map((result) => ({ ...result, ...FAILED })),
};

/** Whether one of the faults refuses a request about these isins as a whole. */
export function isRefused(isins: readonly string[], faults: readonly BulkFault[]): boolean {
  return faults.some((fault) => fault.how === 'refuse' && placeOf(isins, fault) !== undefined);
}

/** The text of a bulk response, with what the faults make of it. */
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

/** Where a fault strikes: at the first of its isins, or at the first item; undefined when it does not. */
function placeOf(isins: readonly string[], { isins: wanted }: BulkFault): number | undefined {
  const at = wanted === undefined ? 0 : isins.findIndex((isin) => wanted.includes(isin));
  return at < 0 || at >= isins.length ? undefined : at;
}

function changed(results: readonly BulkResult[], at: number, change: Partial<BulkResult> = {}): readonly BulkResult[] {
  return results.map((result, index) => (index === at ? { ...result, ...change } : result));
}
