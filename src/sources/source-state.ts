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

/** These give the request, or what is wrong with it. */
function decodeWalk(walk: unknown): RequestedWalk | string {
  const request = decodeRequest(walk);
  if (typeof request === 'string') return `has a walk ${request}`;
  const { allowShrink = null } = walk as Record<string, unknown>;
  if (!isAllowance(allowShrink)) return 'has a walk whose allowShrink is neither a whole number nor null';
  return { ...request, allowShrink };
}

function decodeRestart(restart: unknown): RequestedRestart | string {
  const request = decodeRequest(restart);
  if (typeof request === 'string') return request;
  return { ...request, onlyFailed: (restart as Record<string, unknown>).onlyFailed === true };
}

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
