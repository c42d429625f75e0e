import { ConnectorError } from '../../errors.ts';
import type { HttpResponse } from '../../http/http-response.ts';
import type { JsonObject, JsonValue } from '../../json/exact-json.ts';
import { readWholeJson } from '../../json/json-body.ts';

/** One thing that the interface does not show, what was found, and what the connector assumes. */
export interface Finding {
  readonly what: string;
  readonly found: string;
  readonly assumed: string;
  /** `unknown`: nothing could be found out. */
  readonly state: 'ok' | 'differs' | 'unknown';
}

/** A response, or the status of a refusal; a refusal has no other details. */
export type Probed =
  | {
      readonly kind: 'answer';
      readonly body: JsonObject;
      readonly date: number | null;
      readonly age: number | null;
      readonly encoding: string | null;
    }
  | { readonly kind: 'refused'; readonly status: number; readonly error: ConnectorError }
  | { readonly kind: 'failed'; readonly why: string; readonly error: ConnectorError };

/** How a request is made: with the function that reads its response. */
type Call<Answer> = (consume: (response: HttpResponse) => Promise<Answer>) => Promise<Answer>;

/** Sends one request and reads the response. */
export function probe(call: Call<Probed>): Promise<Probed> {
  return outcomeOf(
    call(async ({ body, date, age, encoding }): Promise<Probed> => {
      const value = await readWholeJson(body);
      if (!(value instanceof Map)) throw new ConnectorError('BODY_MALFORMED', 'The response is not a JSON object.');
      return { kind: 'answer', body: value, date, age, encoding };
    }),
  );
}

/** Sends one request for the status alone: the body is left unread, so that a large one costs little. */
export function probeStatus(call: Call<Probed>): Promise<Probed> {
  return outcomeOf(call(async ({ date, age, encoding }) => ({ kind: 'answer', body: new Map(), date, age, encoding })));
}

async function outcomeOf(asked: Promise<Probed>): Promise<Probed> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { status } = error.fields;
    // That status is the token endpoint's.
    if (error.code === 'TOKEN_FAILED') return { kind: 'failed', why: error.code, error };
    return typeof status === 'number' ? { kind: 'refused', status, error } : { kind: 'failed', why: error.code, error };
  }
}

export function finding(what: string, found: string, assumed: string, isAsAssumed: boolean | null): Finding {
  const state = isAsAssumed === null ? 'unknown' : isAsAssumed ? 'ok' : 'differs';
  return { what, found, assumed, state };
}

/** What came instead of a response, for people. */
export function missing(probed: Exclude<Probed, { readonly kind: 'answer' }>): string {
  return probed.kind === 'refused' ? `status ${probed.status}` : probed.why;
}

/** The elements of a list that are objects; null where there is no list. */
export function rowsOf(body: JsonObject, key: string): readonly JsonObject[] | null {
  const list = body.get(key);
  if (!Array.isArray(list)) return null;
  return (list as readonly JsonValue[]).filter((row): row is JsonObject => row instanceof Map);
}

/** A number of a row as its digits; null where there is none. */
export function digitsOf(row: JsonObject | undefined, name: string): string | null {
  const value = row?.get(name) ?? row?.get(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`);
  return typeof value === 'object' && value !== null && 'text' in value ? value.text : null;
}

/** The largest of some sizes that is taken, from the largest down; at most one request each. */
export async function largestTaken(
  sizes: readonly number[],
  ask: (size: number) => Promise<Probed>,
): Promise<{ readonly taken: number | null; readonly refused: string }> {
  const refused: string[] = [];
  for (const size of [...new Set(sizes)].sort((a, b) => b - a)) {
    const probed = await ask(size);
    if (probed.kind === 'answer') return { taken: size, refused: refused.join(', ') };
    refused.push(`${size}: ${missing(probed)}`);
  }
  return { taken: null, refused: refused.join(', ') };
}
