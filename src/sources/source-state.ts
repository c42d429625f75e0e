import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import { TARGET_STATES, type TargetState } from '../worker/target.ts';
import { isCount, isText } from './stream/committed-stream.ts';
import type { WalkRequest } from './walk/instruments-messages.ts';

/*
 * The states topic holds the commands of operators. Key: the name of the source, or of the price processor. Value:
 * `{"state":"running","walk":{"id":"…","requestedAt":"…","allowShrink":null},`
 * `"restart":{"id":"…","requestedAt":"…","onlyFailed":false}}`. The newest value counts; no value means `running`.
 */

export const STATES_PARTITION = 0;

/** `requestedAt`: ISO 8601, by the clock of the requester. Only people read this date. */
export interface RequestedWalk extends WalkRequest {
  readonly requestedAt: string | null;
}

/** Running processes restart the source when they read this request. Processes that start after the request ignore it. */
export interface RequestedRestart {
  readonly id: string;
  readonly requestedAt: string | null;
  /** True: only a failed source restarts. */
  readonly onlyFailed: boolean;
}

export interface SourceState {
  readonly state: TargetState;
  /** The newest request for a walk. The walk has begun if the source's committed offset has the id of the request. */
  readonly walk: RequestedWalk | null;
  readonly restart: RequestedRestart | null;
}

/** The state of a source without a record on the states topic. */
export const NOTHING_WANTED: SourceState = { state: 'running', walk: null, restart: null };
const LONGEST_ID = 100;
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

/** Returns null if the value is not a valid state. */
export function decodeState({ value }: Pick<CommittedRecord, 'value'>): SourceState | null {
  if (value === null) return NOTHING_WANTED;
  try {
    return stateOf(JSON.parse(value.toString()));
  } catch {
    return null;
  }
}

type GivenRequest = Readonly<Partial<Record<'id' | 'requestedAt' | 'allowShrink' | 'onlyFailed', unknown>>> | null;

interface GivenState {
  readonly state?: unknown;
  readonly walk?: GivenRequest;
  readonly restart?: GivenRequest;
}

function stateOf({ state: wanted, walk = null, restart = null }: GivenState): SourceState | null {
  const state = TARGET_STATES.find((known) => known === wanted);
  if (state === undefined || !isUsable(walk) || !isUsable(restart)) return null;
  const allowShrink = walk?.allowShrink ?? null;
  if (allowShrink !== null && !isCount(allowShrink)) return null;
  return {
    state,
    walk: walk && { ...requestOf(walk), allowShrink },
    restart: restart && { ...requestOf(restart), onlyFailed: restart.onlyFailed === true },
  };
}

type Usable = { readonly id: string; readonly requestedAt?: unknown };

function isUsable(request: GivenRequest): request is (NonNullable<GivenRequest> & Usable) | null {
  return request === null || (isText(request.id) && request.id.length <= LONGEST_ID);
}

function requestOf({ id, requestedAt }: Usable) {
  return { id, requestedAt: typeof requestedAt === 'string' ? requestedAt : null };
}
