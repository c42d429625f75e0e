import { applyEdits, parseLossless, reshape, stringifyLossless } from '../ledger/lossless-json.ts';
import type { Page, PageRow } from '../page.ts';
import { mix } from '../universe/random.ts';
import type { Fault, PageLinks, Poison } from './fault.ts';

/** What page faults need to know beyond the page. */
export interface PageContext {
  readonly seed: number;
  /** The name of the cursor parameter: minId or since. */
  readonly cursor: 'minId' | 'since';
  /** The path and query of this request. */
  readonly self: URL;
  /** The path and query of the request before to the same endpoint. */
  readonly previous: URL | undefined;
  /** The rows of the page before, for a page that comes twice. */
  readonly previousRows: () => readonly PageRow[];
  /** Called with each row that is served other than it is. */
  readonly poisoned: (id: bigint) => void;
}

/** Applies the faults that change a page before it becomes text. */
export function spoilPage(page: Page, faults: readonly Fault[], context: PageContext): Page {
  let spoiled = page;
  for (const fault of faults) {
    if (fault.kind === 'links') spoiled = withLinks(spoiled, fault.how, fault.url, context);
    if (fault.kind === 'poison') {
      const isHit = (row: PageRow, at: number) =>
        fault.rows?.includes(at) ??
        mix(context.seed, Number(row.id % 0xffff_fffbn)) < (fault.share ?? 0) * 0x1_0000_0000;
      const rows = spoiled.rows.map((row, at) => {
        if (!isHit(row, at)) return row;
        context.poisoned(row.id);
        return { ...row, text: poison(row.text, fault.how) };
      });
      spoiled = { ...spoiled, rows };
    }
    if (fault.kind === 'rows') {
      const { rows } = spoiled;
      const changed = {
        previous: () => context.previousRows(),
        none: () => [],
        twice: () => rows.flatMap((row) => [row, row]),
        descending: () => rows.toReversed(),
      };
      spoiled = { ...spoiled, rows: changed[fault.how]() };
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
  const value = parseLossless(text);
  if ('capitalised' in how) return stringifyLossless(reshape(value, { absent: 'null', casing: 'capitalised' }));
  return stringifyLossless(applyEdits(value, how.edit));
}
