import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import type { WalkRequest } from './core/core-state.ts';

/*
 * The states topic: what operators want of each source. The key is the source's name, the value JSON:
 * `{"state":"running","walk":{"id":"…","requestedAt":"…","allowShrink":null}}`. Only the newest value of a key counts,
 * and null stands for a source of which nothing is wanted but to run.
 */

/** The one partition of the states topic. */
export const STATES_PARTITION = 0;

/** A walk that was asked for, and when, by the clock of whoever asked. */
export interface RequestedWalk extends WalkRequest {
  /** ISO 8601, for people. */
  readonly requestedAt: string | null;
}

/** What is wanted of a source. */
export interface SourceState {
  readonly state: 'running';
  /** The newest walk that was asked for, served or not: the source's offset tells which it has served. */
  readonly walk: RequestedWalk | null;
}

export type DecodedState =
  | { readonly kind: 'state'; readonly state: SourceState }
  /** Written by somebody else, or by a later version. `why` goes on a sentence that begins with "the value" and quotes none of it. */
  | { readonly kind: 'unreadable'; readonly why: string };

const NOTHING_WANTED: SourceState = { state: 'running', walk: null };
const LONGEST_ID = 100;

/** The record that says what is wanted of a source. */
export function stateRecord(topic: string, source: string, { state, walk }: SourceState): OutgoingRecord {
  const wanted = walk && { id: walk.id, requestedAt: walk.requestedAt, allowShrink: walk.allowShrink };
  return {
    topic,
    partition: STATES_PARTITION,
    key: Buffer.from(source, 'utf8'),
    value: Buffer.from(JSON.stringify({ state, walk: wanted })),
    headers: {},
  };
}

/** What a record of the states topic says; fields that this version does not know are passed over. */
export function decodeState({ value }: Pick<CommittedRecord, 'value'>): DecodedState {
  if (value === null) return { kind: 'state', state: NOTHING_WANTED };
  const parsed = parseObject(value.toString());
  if (parsed === null) return unreadable('is no JSON object');
  if (parsed.state !== 'running') return unreadable('asks for another state than running, which alone is known here');
  const { walk = null } = parsed;
  if (walk === null) return { kind: 'state', state: NOTHING_WANTED };
  if (!isObject(walk)) return unreadable('has a walk that is no object');
  const { id, requestedAt, allowShrink = null } = walk;
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID)
    return unreadable('has a walk without a usable id');
  if (!isAllowance(allowShrink)) return unreadable('has a walk whose allowShrink is neither a whole number nor null');
  const asked = typeof requestedAt === 'string' ? requestedAt : null;
  return { kind: 'state', state: { state: 'running', walk: { id, requestedAt: asked, allowShrink } } };
}

function unreadable(why: string): DecodedState {
  return { kind: 'unreadable', why };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAllowance(value: unknown): value is number | null {
  return value === null || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
}
