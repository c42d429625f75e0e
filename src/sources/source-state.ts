import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import { TARGET_STATES, type TargetState } from '../worker/target.ts';
import type { WalkRequest } from './walk/instruments-messages.ts';

/*
 * The states topic: what operators want of each source. The key is the source's name, the value JSON:
 * `{"state":"running","walk":{"id":"…","requestedAt":"…","allowShrink":null},`
 * `"restart":{"id":"…","requestedAt":"…","onlyFailed":false}}`. Only the newest value of a key counts, and null means
 * that the source shall just run. The processor has its record beside those of the sources.
 */

/** The one partition of the states topic. */
export const STATES_PARTITION = 0;

/** A walk that was requested, and when, by the clock of the requester. */
export interface RequestedWalk extends WalkRequest {
  /** ISO 8601, for people. */
  readonly requestedAt: string | null;
}

/** A restart that was asked for: it counts when it comes, and a process that starts later has nothing to do for it. */
export interface RequestedRestart {
  readonly id: string;
  /** ISO 8601, for people. */
  readonly requestedAt: string | null;
  /** Only a failed source restarts: the process that runs it knows if it has failed. */
  readonly onlyFailed: boolean;
}

export interface SourceState {
  readonly state: TargetState;
  /** The newest walk that was asked for, served or not: the source's offset holds the one that was served last. */
  readonly walk: RequestedWalk | null;
  readonly restart: RequestedRestart | null;
}

export type DecodedState =
  | { readonly kind: 'state'; readonly state: SourceState }
  /** Written by another program or a later version. `why` continues "the value", and quotes nothing of it. */
  | { readonly kind: 'unreadable'; readonly why: string };

/** The state of a source that has no record. */
export const NOTHING_WANTED: SourceState = { state: 'running', walk: null, restart: null };
const LONGEST_ID = 100;

/** The record that says what is wanted of a source. */
export function stateRecord(topic: string, source: string, wanted: SourceState): OutgoingRecord {
  const walk = wanted.walk && {
    id: wanted.walk.id,
    requestedAt: wanted.walk.requestedAt,
    allowShrink: wanted.walk.allowShrink,
  };
  const restart = wanted.restart && {
    id: wanted.restart.id,
    requestedAt: wanted.restart.requestedAt,
    onlyFailed: wanted.restart.onlyFailed,
  };
  return {
    topic,
    partition: STATES_PARTITION,
    key: Buffer.from(source, 'utf8'),
    value: Buffer.from(JSON.stringify({ state: wanted.state, walk, restart })),
    headers: {},
  };
}

/** Unknown fields are ignored. */
export function decodeState({ value }: Pick<CommittedRecord, 'value'>): DecodedState {
  if (value === null) return { kind: 'state', state: NOTHING_WANTED };
  const parsed = parseObject(value.toString());
  if (parsed === null) return unreadable('is no JSON object');
  const state = TARGET_STATES.find((known) => known === parsed.state);
  if (state === undefined) return unreadable(`asks for another state than ${TARGET_STATES.join(', ')}`);
  const { walk = null, restart = null } = parsed;
  const decodedWalk = walk === null ? null : decodeWalk(walk);
  if (typeof decodedWalk === 'string') return unreadable(decodedWalk);
  const decodedRestart = restart === null ? null : decodeRestart(restart);
  if (typeof decodedRestart === 'string') return unreadable(`has a restart ${decodedRestart}`);
  return { kind: 'state', state: { state, walk: decodedWalk, restart: decodedRestart } };
}

/** The walk, or what is wrong with it. */
function decodeWalk(walk: unknown): RequestedWalk | string {
  const request = decodeRequest(walk);
  if (typeof request === 'string') return `has a walk ${request}`;
  const { allowShrink = null } = walk as Record<string, unknown>;
  if (!isAllowance(allowShrink)) return 'has a walk whose allowShrink is neither a whole number nor null';
  return { ...request, allowShrink };
}

/** The restart, or what is wrong with it. */
function decodeRestart(restart: unknown): RequestedRestart | string {
  const request = decodeRequest(restart);
  if (typeof request === 'string') return request;
  return { ...request, onlyFailed: (restart as Record<string, unknown>).onlyFailed === true };
}

/** The common part of a request, or the problem with it. */
function decodeRequest(request: unknown): Omit<RequestedRestart, 'onlyFailed'> | string {
  if (!isObject(request)) return 'that is no object';
  const { id, requestedAt } = request;
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) return 'without a usable id';
  return { id, requestedAt: typeof requestedAt === 'string' ? requestedAt : null };
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
