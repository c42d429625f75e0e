import type { InstrumentsTaskOptions } from '../../../../src/sources/tasks/instruments-task.ts';
import { KnownDeadRows } from '../../../../src/sources/tasks/known-dead-rows.ts';
import { Census } from '../../../../src/sources/walk/census.ts';

const DAY_MS = 86_400_000;
const topic = (name: string) => ({ name, partitions: 6 });

/** What the task of an instruments source needs beside its core and its provider: no census, no operator, no jitter. */
export function instrumentsTaskOptions({ events, clock }: Pick<InstrumentsTaskOptions, 'events' | 'clock'>) {
  const notifications = topic('notifications');
  return {
    source: 'instruments',
    events,
    clock,
    targets: {
      source: 'instruments',
      instruments: topic('instruments'),
      instrumentEvents: topic('instrument-events'),
      deadLetters: topic('dead-letters'),
      notifications,
    },
    walkRequests: { newest: () => ({ request: null, superseded: new AbortController().signal }) },
    census: async () => new Census(),
    notifications,
    encodeNotification: async () => Buffer.alloc(0),
    settings: { deleteOnEventTypes: [], walkIntervalMs: DAY_MS, behindLimitMs: DAY_MS, handoffMarginMs: 0 },
    deadRows: new KnownDeadRows(),
    endpoints: { instrumentsEndpoint: '/v1/instruments', eventsEndpoint: '/v1/instruments/events' },
    random: () => 0,
  } satisfies Omit<InstrumentsTaskOptions, 'core' | 'provider'>;
}
