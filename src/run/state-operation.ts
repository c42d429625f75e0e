import { randomUUID } from 'node:crypto';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { TopicPartition } from '../kafka/topic.ts';
import {
  decodeState,
  NOTHING_WANTED,
  type RequestedWalk,
  type SourceState,
  STATES_PARTITION,
  stateRecord,
} from '../sources/source-state.ts';
import type { TargetState } from '../worker/target.ts';
import { commitInTurn } from './commit-in-turn.ts';
import type { Installation } from './installation.ts';

export interface StatesPlace extends Pick<Installation, 'kafka' | 'clock' | 'signal'> {
  readonly prefix: string;
  readonly topics: Pick<Installation['topics'], 'states'>;
}

/**
 * Requests a walk of a source, through the states topic. A running connector begins the walk when its current walk has
 * ended. A stopped connector begins the walk when it starts. The request replaces an earlier one that has not begun.
 *
 * @throws ConnectorError of the transactional writer.
 */
export async function requestWalk(
  place: StatesPlace,
  { source, allowShrink }: { readonly source: string; readonly allowShrink: number | null },
): Promise<RequestedWalk> {
  const walk = { ...request(place), allowShrink };
  await changeState(place, source, (wanted) => ({ ...wanted, walk }));
  return walk;
}

/** Requests a source's or processor's state, in force until the next request. Throws the errors of requestWalk. */
export async function requestState(place: StatesPlace, source: string, state: TargetState): Promise<void> {
  await changeState(place, source, (wanted) => ({ ...wanted, state }));
}

/** Restarts a source; with `onlyFailed`, only if the source has failed. Throws the errors of requestWalk. */
export async function requestRestart(
  place: StatesPlace,
  source: string,
  { onlyFailed }: { readonly onlyFailed: boolean } = { onlyFailed: false },
): Promise<void> {
  const restart = { ...request(place), onlyFailed };
  await changeState(place, source, (wanted) => ({ ...wanted, restart }));
}

/** The record that requests a walk and keeps the other requests for the source. Throws the errors of readWanted. */
export async function walkRecord(place: StatesPlace, source: string): Promise<OutgoingRecord> {
  const walk = { ...request(place), allowShrink: null };
  return stateRecord(place.topics.states.name, source, { ...(await readWanted(place, source)), walk });
}

/** All operators change states with this transactional id, so that the changes run one after another. */
export function operatorId(prefix: string): string {
  return `${prefix}-admin`;
}

/** The partitions on which a transaction may stay open after the process of an operator has ended. */
export function statesPartitions({ states }: StatesPlace['topics']): readonly TopicPartition[] {
  return [{ topic: states.name, partition: STATES_PARTITION }];
}

/** Changes one part of the requested state. Keeps the other parts, even if another operator changes them now. */
function changeState(
  { prefix, kafka, topics, clock, signal }: StatesPlace,
  source: string,
  change?: (wanted: SourceState) => SourceState,
): Promise<SourceState> {
  return commitInTurn({ kafka, clock, signal }, operatorId(prefix), {
    abortHanging: () => statesPartitions(topics),
    read: (readSignal) => readWanted({ kafka, topics, signal: readSignal }, source),
    writes: (wanted) => ({ records: change ? [stateRecord(topics.states.name, source, change(wanted))] : [] }),
  });
}

/** Reads the requested state of a source. No connector needs to run. Throws the errors of the log reader. */
export async function readWanted(
  { kafka, topics, signal }: Pick<StatesPlace, 'kafka' | 'topics' | 'signal'>,
  source: string,
): Promise<SourceState> {
  let wanted = NOTHING_WANTED;
  await kafka.logReader.readToEnd({
    topic: topics.states.name,
    partitions: [STATES_PARTITION],
    // Kafka may acknowledge a change before readers can see it: the markers of the transaction come later.
    toHighWatermark: true,
    onRecord(record) {
      if (record.key?.toString() !== source) return;
      // An unreadable record is skipped, as in running connectors.
      wanted = decodeState(record) ?? wanted;
    },
    signal,
  });
  return wanted;
}

/**
 * Like `readWanted`, but first fences all other operators. A change becomes visible some milliseconds after its
 * acknowledgement, so `readWanted` alone may miss the newest request. Throws the errors of requestWalk.
 */
export function readSettledWanted(place: StatesPlace, source: string): Promise<SourceState> {
  return changeState(place, source);
}

function request({ clock }: Pick<StatesPlace, 'clock'>): { readonly id: string; readonly requestedAt: string } {
  return { id: randomUUID(), requestedAt: new Date(clock.wallMs()).toISOString() };
}
