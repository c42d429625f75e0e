import type { JsonObject } from '../../json/exact-json.ts';
import { eventStreamStart, nextInstrumentCursor } from '../../provider/page-link.ts';
import type { ReferenceData } from '../../provider/reference-data.ts';
import type { Clock } from '../../support/clock.ts';
import {
  digitsOf,
  type Finding,
  finding,
  largestTaken,
  missing,
  type Probed,
  probe,
  probeStatus,
  rowsOf,
} from './finding.ts';

/** What the other probes go on from. */
export interface ListProbed {
  readonly findings: readonly Finding[];
  /** Where the event stream starts now; null when the list does not say. */
  readonly streamStart: string | null;
  /** Of the first rows. */
  readonly ids: readonly string[];
}

const HIGHEST_ID = '9223372036854775807';
/** Beyond the limits of the settings: the interface shows none. */
const LARGER_LIMITS = [10_000, 2_000];
const LARGEST_SKEW_MS = 60_000;
const FIRST_ROWS = 3;

/**
 * The instrument list: at most 7 requests, of which one has a large response that is left unread.
 *
 * @throws ConnectorError of the first request.
 */
export async function probeList(
  referenceData: ReferenceData,
  limit: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ListProbed> {
  const page = (minId: string | null, rows: number): Promise<Probed> =>
    probe((consume) => referenceData.instruments({ minId, limit: rows }, consume, signal));
  const wallMs = clock.wallMs();
  const first = await page(null, FIRST_ROWS);
  // Then nothing can be found out.
  if (first.kind !== 'answer') throw first.error;
  const rows = rowsOf(first.body, 'instruments') ?? [];
  const ids = rows.flatMap((row) => digitsOf(row, 'id') ?? []);
  const start = read(first.body, (links) => eventStreamStart(links, referenceData.baseUrl));
  const findings: Finding[] = [
    finding('credentials', 'accepted', 'accepted in the header of the request', true),
    ...transportFindings(first, wallMs),
    finding(
      'keys of instruments',
      rows.length === 0
        ? 'no instrument came'
        : rows[0]?.has('id')
          ? 'lower case first'
          : rows[0]?.has('Id')
            ? 'capitalised'
            : 'neither id nor Id',
      'one spelling of all keys, capitalised or not',
      rows.length === 0 ? null : ids.length === rows.length,
    ),
    finding(
      'order of the list',
      ids.join(', ') || 'no instrument came',
      'ids rise',
      ids.length < 2 ? null : isRising(ids),
    ),
    finding('links.events', start.found, 'it holds an offset <digits>-<digits>', start.value !== null),
    await cursorFinding(ids, page),
    await endFinding(referenceData.baseUrl, await page(HIGHEST_ID, 1)),
  ];
  const largest = await largestTaken([...LARGER_LIMITS, limit], (size) =>
    probeStatus((consume) => referenceData.instruments({ minId: null, limit: size }, consume, signal)),
  );
  findings.push(sizeFinding('limit', largest, limit));
  return { findings, streamStart: start.value, ids };
}

function transportFindings({ date, encoding, age }: Extract<Probed, { kind: 'answer' }>, wallMs: number): Finding[] {
  const skewMs = date === null ? null : date - wallMs;
  const seconds = Math.round((skewMs ?? 0) / 1_000);
  const apart = `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'}`;
  const skew = skewMs === null ? 'unknown' : `the provider is ${apart} this machine`;
  return [
    finding('Date', date === null ? 'missing' : new Date(date).toISOString(), 'each response has it', date !== null),
    finding('clocks', skew, 'within a minute', skewMs === null ? null : Math.abs(skewMs) < LARGEST_SKEW_MS),
    // A response from a cache is refused before it comes here.
    finding('Age', age === null ? 'none' : `${age} s`, 'no response comes from a cache', true),
    finding('compression', encoding ?? 'none', 'gzip, br or none', true),
  ];
}

async function cursorFinding(ids: readonly string[], page: (minId: string, rows: number) => Promise<Probed>) {
  const assumed = 'either: a row that comes on two pages is harmless';
  const [, second, third] = ids;
  if (second === undefined || third === undefined) return finding('minId', 'too few instruments', assumed, null);
  const probed = await page(second, 1);
  if (probed.kind !== 'answer') return finding('minId', missing(probed), assumed, null);
  const came = digitsOf(rowsOf(probed.body, 'instruments')?.[0], 'id');
  if (came === second) return finding('minId', 'inclusive', assumed, true);
  return came === third
    ? finding('minId', 'exclusive', assumed, true)
    : finding('minId', `row ${came}`, assumed, false);
}

function endFinding(baseUrl: string, probed: Probed): Finding {
  const assumed = 'after the last row: no rows, and links.next null or empty';
  if (probed.kind !== 'answer') return finding('end of the list', missing(probed), assumed, false);
  const count = rowsOf(probed.body, 'instruments')?.length ?? 0;
  const next = read(probed.body, (links) => nextInstrumentCursor(links, baseUrl) ?? 'null');
  const isEnd = next.value === 'null' && count === 0;
  return finding('end of the list', `${count} rows, links.next ${next.found}`, assumed, isEnd);
}

export function sizeFinding(
  what: string,
  { taken, refused }: { readonly taken: number | null; readonly refused: string },
  configured: number,
): Finding {
  const found = `${taken ?? 'nothing'} is accepted${refused === '' ? '' : `; refused ${refused}`}`;
  return finding(`largest ${what}`, found, `${configured}, as in the settings`, taken !== null && taken >= configured);
}

/** What the links of a response say, or what is wrong with them. */
function read(body: JsonObject, take: (links: JsonObject) => string): { found: string; value: string | null } {
  const links = body.get('links');
  if (!(links instanceof Map)) return { found: 'no links', value: null };
  try {
    const value = take(links);
    return { found: value, value };
  } catch (error) {
    return { found: error instanceof Error ? error.message : 'unreadable', value: null };
  }
}

function isRising(ids: readonly string[]): boolean {
  return ids.every((id, at) => at === 0 || BigInt(id) > BigInt(ids[at - 1] ?? 0));
}
