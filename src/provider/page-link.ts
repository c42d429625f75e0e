import { ConnectorError } from '../errors.ts';
import type { BodyEdges } from './http/body-chunks.ts';

// An int64 in decimal (parts 2.2 and 4.2 of src/provider/README.md).
const INSTRUMENT_CURSOR = /^-?\d{1,19}$/;
// "an offset of the form <digits>-<digits>" (part 4.2 of src/provider/README.md); the limit of 20 digits is our choice.
export const EVENT_OFFSET = /^\d{1,20}-\d{1,20}$/;
/**
 * The offset of pre-trade checks: "a string offset" (part 4.2 of src/provider/README.md). The provider documents no
 * form; the limits are our choice. Text with `://` is refused, because logs show offsets, but never a check's address.
 */
export const CHECK_OFFSET = /^(?!.*:\/\/)[\x20-\x7e]{1,256}$/;
const MAX_EVENTS = /^[1-9]\d{0,8}$/;
const LONGEST_LINK = 2_048;

/** The cursor of the next page, from `links.next` of a list response; null at the end of the list (an empty link). */
export function nextInstrumentCursor(links: ReadonlyMap<string, unknown>, baseUrl: string): string | null {
  if (!links.has('next')) throw violation('has no links.next; only null or an empty text ends the list');
  const next = links.get('next');
  if (next === null || next === '') return null;
  return cursorOf(next, 'links.next', 'minId', INSTRUMENT_CURSOR, baseUrl);
}

const NEXT_MEMBER = /"next"\s*:\s*"((?:[^"\\]|\\["\\/])*)"/g;

/** Guesses the next cursor before the body is decoded. The guess is wrong if a row contains text like a link. */
export function probableNextCursor(edges: BodyEdges, baseUrl: string): string | null {
  return probableNext(edges, (links) => nextInstrumentCursor(links, baseUrl));
}

/** Finds text like a next link near the start or end of a body. Returns the result of `read`; null without a link. */
export function probableNext(
  { first, last }: BodyEdges,
  read: (links: ReadonlyMap<string, unknown>) => string | null,
): string | null {
  const found = [first, last].flatMap((edge) => [...edge.toString('latin1').matchAll(NEXT_MEMBER)]);
  const next = found.at(-1)?.[1]?.replace(/\\(.)/g, '$1');
  return next === undefined ? null : nullIfWrong(() => read(new Map([['next', next]])));
}

/** The start offset of the event stream: `links.events` of a list response (part 4.2 of src/provider/README.md). */
export function eventStreamStart(links: ReadonlyMap<string, unknown>, baseUrl: string): string {
  return cursorOf(links.get('events'), 'links.events', 'since', EVENT_OFFSET, baseUrl);
}

/** Like `eventStreamStart`, but null for a missing or malformed link: a walk continues without this offset. */
export function pageStreamStart(links: ReadonlyMap<string, unknown>, baseUrl: string): string | null {
  return nullIfWrong(() => eventStreamStart(links, baseUrl));
}

function nullIfWrong<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConnectorError) return null;
    throw error;
  }
}

/** The next offset of the event stream, from `links.next` of a response (part 4.2 of src/provider/README.md). */
export function nextEventOffset(links: ReadonlyMap<string, unknown>, baseUrl: string): string {
  return cursorOf(links.get('next'), 'links.next', 'since', EVENT_OFFSET, baseUrl);
}

/** The maximum number of events in a response, from `links.next`; null if the link does not contain the number. */
export function namedMaxEvents(links: ReadonlyMap<string, unknown>, baseUrl: string): number | null {
  const next = links.get('next');
  const url = typeof next === 'string' ? URL.parse(next, baseUrl) : null;
  const values = url?.searchParams.getAll('maxEvents') ?? [];
  const [value = ''] = values;
  return values.length === 1 && MAX_EVENTS.test(value) ? Number(value) : null;
}

/** The newest offset in an events response (`nextId`); null if the offset is missing or malformed. */
export function newestEventOffset(envelope: ReadonlyMap<string, unknown>): string | null {
  const nextId = envelope.get('nextId');
  return typeof nextId === 'string' && EVENT_OFFSET.test(nextId) ? nextId : null;
}

/**
 * Returns one query parameter of a link; nothing else of the link is used. Requests use the configured address, so a
 * link cannot send credentials to another server, and cannot change the filter. A link to another origin is an error.
 */
export function cursorOf(link: unknown, name: string, parameter: string, form: RegExp, baseUrl: string): string {
  if (typeof link !== 'string') throw violation(`has ${describe(link)} as ${name}; expected a link`);
  if (link.length > LONGEST_LINK) throw violation(`has a ${name} of ${link.length} characters`);
  const base = new URL(baseUrl);
  const url = URL.parse(link, base.href);
  if (url === null) throw violation(`has a ${name} that is not a link`);
  if (url.origin !== base.origin || url.username !== '' || url.password !== '') {
    throw violation(`has a ${name} to another origin (${url.origin}); no request was sent there`);
  }
  const values = url.searchParams.getAll(parameter);
  if (values.length !== 1) throw violation(`has a ${name} with ${values.length} parameters ${parameter}; expected one`);
  const cursor = values[0] ?? '';
  if (!form.test(cursor)) throw violation(`has a ${name} whose ${parameter} does not have the form ${form.source}`);
  return cursor;
}

function violation(what: string): ConnectorError {
  return new ConnectorError(
    'PROTOCOL_VIOLATION',
    `The response of the reference data interface ${what}. Nothing was written.`,
  );
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'a number, a list or an object' : `a ${typeof value}`;
}
