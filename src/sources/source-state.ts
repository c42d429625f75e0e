import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import { TARGET_STATES, type TargetState } from '../worker/target.ts';
import type { WalkRequest } from './walk/instruments-messages.ts';

/*
 * The states topic: the wishes of operators. Key: name of the source, or of the price processor. Value:
 * `{"state":"running","walk":{"id":"…","requestedAt":"…","allowShrink":null},`
 * `"restart":{"id":"…","requestedAt":"…","onlyFailed":false}}`. The newest value counts; null: just run.
 */

export const STATES_PARTITION = 0;

/** `requestedAt`: ISO 8601, by the clock of the requester, for people. */
export interface RequestedWalk extends WalkRequest {
  readonly requestedAt: string | null;
}

/** Counts when it comes; a process that starts later has nothing to do. */
export interface RequestedRestart {
  readonly id: string;
  readonly requestedAt: string | null;
  /** Only a failed source restarts. */
  readonly onlyFailed: boolean;
}

export interface SourceState {
  readonly state: TargetState;
  /** Served or not: the offset of the source holds the last one that was served. */
  readonly walk: RequestedWalk | null;
  readonly restart: RequestedRestart | null;
}

export type DecodedState =
  | { readonly kind: 'state'; readonly state: SourceState }
  /** `why` continues "the value", and quotes nothing of it. */
  | { readonly kind: 'unreadable'; readonly why: string };

/** Of a source without a record. */
export const NOTHING_WANTED: SourceState = { state: 'running', walk: null, restart: null };
const LONGEST_ID = 100;
/** Of a record, in this order. */
const FIELDS = ['state', 'walk', 'id', 'requestedAt', 'allowShrink', 'restart', 'onlyFailed'];

export function stateRecord(topic: string, source: string, wanted: SourceState): OutgoingRecord {
  return {
    topic,
    partition: STATES_PARTITION,
    key: Buffer.from(source, 'utf8'),
    value: Buffer.from(JSON.stringify(wanted, FIELDS)),
    headers: {},
  };
}

export function decodeState({ value }: Pick<CommittedRecord, 'value'>): DecodedState {
  if (value === null) return { kind: 'state', state: NOTHING_WANTED };
  try {
    return { kind: 'state', state: stateOf(JSON.parse(value.toString())) };
  } catch (error) {
    return { kind: 'unreadable', why: error instanceof Unreadable ? error.message : 'is no JSON object' };
  }
}

/** The message says why. */
class Unreadable extends Error {}

function stateOf(value: unknown): SourceState {
  const { state: wanted, walk = null, restart = null } = objectOf(value, 'is no JSON object');
  const state = TARGET_STATES.find((known) => known === wanted);
  if (state === undefined) throw new Unreadable(`asks for another state than ${TARGET_STATES.join(', ')}`);
  return { state, walk: walk === null ? null : walkOf(walk), restart: restart === null ? null : restartOf(restart) };
}

function walkOf(walk: unknown): RequestedWalk {
  const { allowShrink = null, ...request } = requestOf(walk, 'walk');
  const isCount = typeof allowShrink === 'number' && Number.isSafeInteger(allowShrink) && allowShrink >= 0;
  if (allowShrink === null || isCount) return { id: request.id, requestedAt: request.requestedAt, allowShrink };
  throw new Unreadable('has a walk whose allowShrink is neither a whole number nor null');
}

function restartOf(restart: unknown): RequestedRestart {
  const { id, requestedAt, onlyFailed } = requestOf(restart, 'restart');
  return { id, requestedAt, onlyFailed: onlyFailed === true };
}

function requestOf(
  value: unknown,
  what: string,
): Readonly<Record<string, unknown>> & { readonly id: string; readonly requestedAt: string | null } {
  const { id, requestedAt, ...others } = objectOf(value, `has a ${what} that is no object`);
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) {
    throw new Unreadable(`has a ${what} without a usable id`);
  }
  return { ...others, id, requestedAt: typeof requestedAt === 'string' ? requestedAt : null };
}

function objectOf(value: unknown, otherwise: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unreadable(otherwise);
  return value as Record<string, unknown>;
}
