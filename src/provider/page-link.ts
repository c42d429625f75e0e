import { ConnectorError } from '../errors.ts';
import type { BodyEdges } from './http/body-chunks.ts';

// int64 in decimal (parts 2.2 and 4.2 of src/provider/README.md).
const INSTRUMENT_CURSOR = /^-?\d{1,19}$/;
// "an offset of the form <digits>-<digits>" (part 4.2 of src/provider/README.md); the bound is ours.
export const EVENT_OFFSET = /^\d{1,20}-\d{1,20}$/;
/**
 * "A string offset" (part 4.2 of src/provider/README.md, pre-trade checks): its form is not shown, the bounds are ours.
 * An address is refused: offsets appear in logs and headers, where the address of a check must not.
 */
export const CHECK_OFFSET = /^(?!.*:\/\/)[\x20-\x7e]{1,256}$/;
const MAX_EVENTS = /^[1-9]\d{0,8}$/;
const LONGEST_LINK = 2_048;

/** The cursor of the next page in a list response's `links.next`; null at the explicit end of the list. */
export function nextInstrumentCursor(links: ReadonlyMap<string, unknown>, baseUrl: string): string | null {
  if (!links.has('next')) throw violation('has no links.next; only null or an empty text ends the list');
  const next = links.get('next');
  if (next === null || next === '') return null;
  return cursorOf(next, 'links.next', 'minId', INSTRUMENT_CURSOR, baseUrl);
}

const NEXT_MEMBER = /"next"\s*:\s*"((?:[^"\\]|\\["\\/])*)"/g;

/** The probable next cursor, before the body is decoded. A member of a row may look the same: the caller compares later. */
export function probableNextCursor(edges: BodyEdges, baseUrl: string): string | null {
  return probableNext(edges, (links) => nextInstrumentCursor(links, baseUrl));
}

/** The result of `read` for the next link that the edges of a body seem to name; null where it refuses that. */
export function probableNext(
  { first, last }: BodyEdges,
  read: (links: ReadonlyMap<string, unknown>) => string | null,
): string | null {
  const found = [first, last].flatMap((edge) => [...edge.toString('latin1').matchAll(NEXT_MEMBER)]);
  const next = found.at(-1)?.[1]?.replace(/\\(.)/g, '$1');
  try {
    return next === undefined ? null : read(new Map([['next', next]]));
  } catch (error) {
    if (error instanceof ConnectorError) return null;
    throw error;
  }
}

/** Where the event stream starts: `links.events` of a list response (part 4.2 of src/provider/README.md). */
export function eventStreamStart(links: ReadonlyMap<string, unknown>, baseUrl: string): string {
  return cursorOf(links.get('events'), 'links.events', 'since', EVENT_OFFSET, baseUrl);
}

/** The same for any page of a walk, which does not need it: null where it is missing or not of the documented form. */
export function pageStreamStart(links: ReadonlyMap<string, unknown>, baseUrl: string): string | null {
  try {
    return eventStreamStart(links, baseUrl);
  } catch (error) {
    if (error instanceof ConnectorError) return null;
    throw error;
  }
}

/** Where the event stream goes on: `links.next` of its response (part 4.2 of src/provider/README.md). */
export function nextEventOffset(links: ReadonlyMap<string, unknown>, baseUrl: string): string {
  return cursorOf(links.get('next'), 'links.next', 'since', EVENT_OFFSET, baseUrl);
}

/** The most events of one response, where `links.next` of an events response says so. */
export function namedMaxEvents(links: ReadonlyMap<string, unknown>, baseUrl: string): number | null {
  const next = links.get('next');
  const url = typeof next === 'string' ? URL.parse(next, baseUrl) : null;
  const values = url?.searchParams.getAll('maxEvents') ?? [];
  const [value = ''] = values;
  return values.length === 1 && MAX_EVENTS.test(value) ? Number(value) : null;
}

/** The newest offset that an events response names (`nextId`); null when it is missing or not of the documented form. */
export function newestEventOffset(envelope: ReadonlyMap<string, unknown>): string | null {
  const nextId = envelope.get('nextId');
  return typeof nextId === 'string' && EVENT_OFFSET.test(nextId) ? nextId : null;
}

/**
 * Takes one cursor out of a link and nothing else: requests are built from our own base address, so a link can neither
 * send credentials elsewhere nor change the filter. A link that *points* elsewhere is refused too, since a response
 * that holds one is not the provider's.
 */
export function cursorOf(link: unknown, name: string, parameter: string, form: RegExp, baseUrl: string): string {
  if (typeof link !== 'string') throw violation(`has ${describe(link)} as ${name}; expected a link`);
  if (link.length > LONGEST_LINK) throw violation(`has a ${name} of ${link.length} characters`);
  const base = new URL(baseUrl);
  const url = URL.parse(link, base.href);
  if (url === null) throw violation(`has a ${name} that is not a link`);
  if (url.origin !== base.origin || url.username !== '' || url.password !== '') {
    throw violation(`has a ${name} to another origin (${url.origin}); nothing was asked of it`);
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
