import { codeOf, countRegistryFailure } from './error-metrics.ts';
import { createFreshnessGauges } from './freshness-gauges.ts';
import type { Meters } from './meters.ts';
import { METRICS } from './metric-table/all.ts';
import { type BatchPriced, type ProcessorEvents, TOMBSTONE_REASONS } from './processor-events.ts';

const STATUSES = METRICS.spconnect_prices_status.values.status;

/** The price processor's events as metrics: the numbers of the log lines, added up. */
export function createProcessorMetrics(meters: Meters): {
  readonly events: ProcessorEvents;
  /** Updates the gauges that change without events; called before each scrape. */
  refresh(): void;
} {
  const freshness = createFreshnessGauges(meters);
  const partitions = new Set<string>();

  function setStatus(now: (typeof STATUSES)[number]): void {
    for (const status of STATUSES) meters.set('spconnect_prices_status', { status }, status === now ? 1 : 0);
  }

  function setPartitions(): void {
    meters.set('spconnect_prices_partitions', {}, partitions.size);
  }

  setStatus('unassigned');
  return {
    refresh: freshness.refresh,
    events: {
      processorStarted(event) {
        setStatus('unassigned');
        freshness.follow(event.freshness);
        for (const price of event.kinds) meters.startAtZero({ price });
      },
      processorJoined: () => setStatus('running'),
      partitionAssigned({ topic, partition, durationMs }) {
        partitions.add(`${topic}-${partition}`);
        setPartitions();
        meters.observe('spconnect_prices_assign_duration_seconds', {}, durationMs / 1_000);
      },
      partitionLost({ topic, partition }) {
        partitions.delete(`${topic}-${partition}`);
        setPartitions();
      },
      partitionWriterLost({ topic, partition, err }) {
        // Until the writer has opened again, its partition is not priced here.
        partitions.delete(`${topic}-${partition}`);
        setPartitions();
        meters.add('spconnect_prices_writer_lost_total', { code: codeOf(err) }, 1);
        countRegistryFailure(meters, err);
      },
      recordsUnreadable: ({ reason, records }) =>
        meters.add('spconnect_prices_unreadable_records_total', { reason }, records),
      batchPriced: (batch) => batchPriced(meters, batch),
      batchBisected: ({ kind, code }) => meters.add('spconnect_prices_bisected_total', { price: kind, code }, 1),
      batchLimitLearnt: ({ kind, maxItems }) => meters.set('spconnect_prices_batch_limit', { price: kind }, maxItems),
      bulkAttemptFailed({ kind, err }) {
        meters.add('spconnect_prices_bulk_failures_total', { price: kind, code: codeOf(err) }, 1);
        countRegistryFailure(meters, err);
      },
      // Shown by the gauge of failing instruments, which also falls again.
      instrumentFailing() {},
      processorAttemptFailed({ err, isMember }) {
        if (!isMember) setStatus('unassigned');
        meters.add('spconnect_prices_attempts_failed_total', { code: codeOf(err) }, 1);
        countRegistryFailure(meters, err);
      },
      processorRests: ({ wanted }) => setStatus(wanted),
      processorFailed({ err }) {
        setStatus('failed');
        countRegistryFailure(meters, err);
      },
    },
  };
}

function batchPriced(meters: Meters, batch: BatchPriced): void {
  const { kind: price, priced, problems, unusable, dropped, withoutIsin, gone, postponed } = batch;
  // Records without any response do not show that the provider answers.
  meters.add('spconnect_prices_batches_total', { price }, batch.items > 0 ? 1 : 0);
  meters.add('spconnect_prices_bulk_calls_total', { price }, batch.calls);
  meters.add('spconnect_prices_items_total', { price, result: 'priced' }, priced);
  meters.add('spconnect_prices_items_total', { price, result: 'problem' }, problems);
  meters.add('spconnect_prices_items_total', { price, result: 'unusable' }, unusable);
  meters.add('spconnect_prices_items_total', { price, result: 'dropped' }, dropped);
  meters.add('spconnect_prices_records_total', { price, result: 'written' }, batch.records);
  meters.add('spconnect_prices_records_total', { price, result: 'unchanged' }, batch.unchanged);
  meters.add('spconnect_prices_inputs_total', { result: 'asked' }, batch.inputs - withoutIsin - gone - postponed);
  meters.add('spconnect_prices_inputs_total', { result: 'withoutIsin' }, withoutIsin);
  meters.add('spconnect_prices_inputs_total', { result: 'gone' }, gone);
  meters.add('spconnect_prices_inputs_total', { result: 'postponed' }, postponed);
  meters.add('spconnect_prices_dead_letters_total', { price }, batch.deadLetters);
  for (const reason of TOMBSTONE_REASONS) {
    meters.add('spconnect_prices_tombstones_total', { reason }, batch.tombstones[reason] ?? 0);
  }
  meters.add('spconnect_prices_drift_fields_total', { price }, batch.drift);
  meters.add('spconnect_prices_rounded_numbers_total', { price }, batch.roundedNumbers);
  meters.add('spconnect_prices_errors_flag_differs_total', { price }, batch.errorsFlagDiffers);
  meters.observe('spconnect_prices_ask_duration_seconds', { price }, batch.askMs / 1_000);
  meters.observe('spconnect_prices_commit_duration_seconds', { price }, batch.commitMs / 1_000);
}
