import type { Clock } from '../support/clock.ts';
import type { ConnectorEvents, ResponseCounts } from './connector-events.ts';
import { codeOf, countRegistryFailure } from './error-metrics.ts';
import type { Meters } from './meters.ts';
import type { SourceGauges } from './source-gauges.ts';

const WALK_RESULTS = ['added', 'corrected', 'unchanged', 'reEncoded', 'gone'] as const;

/** Events as metrics: the numbers of the log lines, added up. */
export function createMetricsEvents(options: {
  readonly meters: Meters;
  readonly sources: SourceGauges;
  readonly clock: Pick<Clock, 'wallMs'>;
}): ConnectorEvents {
  const { meters, sources, clock } = options;

  return {
    topicCreated: () => meters.add('spconnect_topics_created_total', {}, 1),
    topicDrift: () => meters.add('spconnect_topic_differences_total', {}, 1),
    writerOpened({ partition: number, durationMs }) {
      const partition = String(number);
      meters.add('spconnect_writer_opened_total', { partition }, 1);
      meters.observe('spconnect_writer_open_duration_seconds', { partition }, durationMs / 1_000);
    },
    sourceStarted(place) {
      sources.setStatus(place.source, 'running');
      sources.setPlace(place);
    },
    polled(poll) {
      const { source, endpoint, rows } = poll;
      meters.add('spconnect_polls_total', { source, endpoint }, 1);
      meters.add('spconnect_rows_received_total', { source, endpoint }, rows);
      meters.observe('spconnect_poll_duration_seconds', { source, endpoint }, poll.durationMs / 1_000);
      meters.set('spconnect_source_caught_up', { source }, poll.caughtUp ? 1 : 0);
      meters.set('spconnect_source_last_poll_timestamp_seconds', { source }, clock.wallMs() / 1_000);
      sources.setPlace(poll);
    },
    ...walkEvents(meters, clock),
    eventsCommitted(response) {
      const { source, events, commitMs } = response;
      responseCommitted(meters, source, response, { record: 'event', records: events, commitMs });
    },
    instrumentsDeleted: ({ source, why, instruments }) =>
      meters.add('spconnect_tombstones_total', { source, reason: why }, instruments),
    checksCommitted(response) {
      const { source, checks, commitMs } = response;
      responseCommitted(meters, source, response, { record: 'check', records: checks, commitMs });
    },
    responseDiscarded: ({ source, why }) =>
      meters.add('spconnect_stream_responses_discarded_total', { source, reason: why }, 1),
    notified: ({ source, kind }) => meters.add('spconnect_notifications_total', { source, kind }, 1),
    attemptFailed({ source, err }) {
      meters.add('spconnect_poll_failures_total', { source, code: codeOf(err) }, 1);
      countRegistryFailure(meters, err);
    },
    writerLost: ({ partition, err }) =>
      meters.add('spconnect_writer_lost_total', { partition: String(partition), code: codeOf(err) }, 1),
    sourcePaused: ({ source }) => sources.setStatus(source, 'paused'),
    sourceResumed: ({ source }) => sources.setStatus(source, 'running'),
    sourceStopped({ source }) {
      sources.setStatus(source, 'stopped');
      sources.taskEnded(source);
    },
    stateUnreadable: () => meters.add('spconnect_states_unreadable_total', {}, 1),
    sourceFailed({ source, err }) {
      sources.setStatus(source, 'failed');
      sources.taskEnded(source);
      countRegistryFailure(meters, err);
    },
    replicaJoined(replica) {
      meters.set('spconnect_source_partitions', {}, replica.partitions.length);
      sources.setOwned(replica.sources);
    },
    schemasRegistered() {},
    adminListening() {},
    stopped() {},
  };
}

type WalkEvents = Pick<
  ConnectorEvents,
  'walkStarted' | 'walkResumed' | 'pageCommitted' | 'walkCompleted' | 'walkScheduled'
>;

function walkEvents(meters: Meters, clock: Pick<Clock, 'wallMs'>): WalkEvents {
  return {
    walkStarted({ source }) {
      meters.set('spconnect_walk_running', { source }, 1);
      meters.set('spconnect_walk_pages', { source }, 0);
    },
    walkResumed({ source, pages }) {
      meters.set('spconnect_walk_running', { source }, 1);
      meters.set('spconnect_walk_pages', { source }, pages);
    },
    pageCommitted(page) {
      const { source, records, commitMs } = page;
      responseCommitted(meters, source, page, { record: 'instrument', records, commitMs });
      meters.add('spconnect_rows_unchanged_total', { source }, page.unchanged);
      meters.add('spconnect_rows_repeated_total', { source }, page.repeatedRows);
      meters.set('spconnect_walk_pages', { source }, page.page);
    },
    walkCompleted(walk) {
      const { source } = walk;
      meters.set('spconnect_walk_running', { source }, 0);
      meters.set('spconnect_walk_last_pages', { source }, walk.pages);
      meters.set('spconnect_walk_last_duration_seconds', { source }, walk.durationMs / 1_000);
      meters.set('spconnect_walk_last_completed_timestamp_seconds', { source }, clock.wallMs() / 1_000);
      meters.add('spconnect_walks_completed_total', { source }, 1);
      for (const result of WALK_RESULTS) meters.add('spconnect_walk_rows_total', { source, result }, walk[result]);
      meters.add('spconnect_walk_rows_total', { source, result: 'deadLetter' }, walk.deadLetters);
      meters.add('spconnect_records_written_total', { source, record: 'tombstone' }, walk.gone);
    },
    walkScheduled({ source, at }) {
      // It is reported when no walk is under way, and after a restart no other event shows that.
      meters.set('spconnect_walk_running', { source }, 0);
      meters.set('spconnect_walk_next_timestamp_seconds', { source }, Date.parse(at) / 1_000);
    },
  };
}

/** The counts of every committed response. */
function responseCommitted(
  meters: Meters,
  source: string,
  response: ResponseCounts,
  written: { readonly record: string; readonly records: number; readonly commitMs: number },
): void {
  meters.add('spconnect_records_written_total', { source, record: written.record }, written.records);
  const { deadLettersTooLarge: tooLarge, deadLettersWithoutKey: withoutKey } = response;
  const wrongType = response.deadLetters - tooLarge - withoutKey;
  meters.add('spconnect_dead_letters_total', { source, reason: 'tooLarge' }, tooLarge);
  meters.add('spconnect_dead_letters_total', { source, reason: 'withoutKey' }, withoutKey);
  meters.add('spconnect_dead_letters_total', { source, reason: 'wrongType' }, wrongType);
  meters.add('spconnect_drift_fields_total', { source }, response.drift);
  meters.add('spconnect_rounded_numbers_total', { source }, response.roundedNumbers);
  meters.add('spconnect_duplicate_keys_total', { source }, response.duplicateKeys);
  meters.observe('spconnect_transaction_records', { source }, written.records + response.deadLetters);
  meters.observe('spconnect_commit_duration_seconds', { source }, written.commitMs / 1_000);
}
