import type { SourceSettings } from '../../config/settings.ts';
import { adviceBehind, ConnectorError } from '../../errors.ts';
import { toAll } from '../../observe/event-table.ts';
import type { Events, WalkCompleted } from '../../observe/events.ts';
import type { Clock } from '../../support/clock.ts';
import type { WorkerTargets } from '../../worker/target.ts';
import { counted, countText } from '../texts.ts';
import { alarmsOf, KAFKA_IS_SILENT_SECONDS, readinessChecks } from './readiness.ts';
import type { Notified, ReadinessCheck, Status } from './status.ts';
import { createStatusProcessor } from './status-processor.ts';
import { createStatusSources } from './status-sources.ts';

const MAXIMUM_NOTIFICATIONS = 20;

export interface StatusBoard {
  readonly events: Events;
  /** Called when the topics are verified. A topic in `refused` stops only the sources that use the topic. */
  topicsProven(kafkaClusterId: string | null, refused?: readonly string[]): void;
  topicsMissing(names: readonly string[]): void;
  /** Resolves when the facts about prices in status and metrics are at most a second old. */
  refreshed(): Promise<void>;
  status(): Status;
}

export interface StatusBoardOptions {
  readonly version: string;
  readonly prefix: string;
  readonly sources: readonly Pick<SourceSettings, 'name' | 'type'>[];
  /** The name of the price processor; null if no prices are followed. */
  readonly processor: string | null;
  readonly targets: WorkerTargets;
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  /** The time of Kafka's last answer, by the monotonic clock; null before the first answer. */
  readonly kafkaAnsweredMs: () => number | null;
  /** How far each other clock is ahead of our clock, in milliseconds; the key is the name of the other clock. */
  readonly clocksAheadMs: ReadonlyMap<string, number>;
  readonly redact: (text: string) => string;
  readonly signal: AbortSignal;
}

export function createStatusBoard(options: StatusBoardOptions): StatusBoard {
  const { version, prefix, clock, targets, signal } = options;
  const describe = (error: unknown, source?: string) => options.redact(errorText(error, source));
  const isoNow = () => new Date(clock.wallMs()).toISOString();
  const startedAt = isoNow();
  const sources = createStatusSources({ ...options, describe });
  const name = options.processor ?? '';
  const ofPrices = { name, describe: (error: unknown) => describe(error, name) };
  const processor = createStatusProcessor({ ...ofPrices, target: () => targets.of(name), clock });
  const notifications: Notified[] = [];
  const notice = (source: string, kind: Notified['kind'], text: string) => {
    notifications.unshift({ at: isoNow(), source, kind, text });
    notifications.splice(MAXIMUM_NOTIFICATIONS);
  };
  const startedMs = clock.monotonicMs();
  let topics: ReadinessCheck = { name: 'topics', ok: false, why: 'not verified yet' };
  let kafkaClusterId: string | null = null;
  let missing: readonly string[] = [];
  const own: Partial<Events> = {
    attemptFailed({ part, err }) {
      if (part === 'topics') topics = { ...topics, why: describe(err).replace(/\s+/g, ' ') };
    },
    // `walkCompleted`, `windowsMissed` and `sourceFailed` have records on the topic `notifications` too, like each `notified` event.
    walkCompleted: (event) => notice(event.source, 'walkCompleted', walkText(event)),
    windowsMissed({ kind, from, to, products, command }) {
      const whose = products === null ? '' : ` of ${counted(products, 'product')}`;
      const text = `Windows of ${kind}${whose} from ${from} to ${to} were not requested. Request them: ${command}`;
      notice(name, 'windowsMissed', text);
    },
    sourceFailed({ source, err }) {
      if (err instanceof ConnectorError) notice(source, 'sourceFailed', describe(err, source));
    },
    notified: ({ source, kind, text }) => notice(source, kind, options.redact(text)),
  };
  return {
    events: toAll([sources.events, processor.events, own]),
    topicsProven(clusterId, refused = []) {
      const why = `verified at the start${refused.length === 0 ? '' : `, except ${refused.join(', ')}`}`;
      topics = { name: 'topics', ok: true, why };
      kafkaClusterId = clusterId;
    },
    topicsMissing(names) {
      missing = names;
    },
    refreshed: () => processor.refreshed(),
    status() {
      const answeredMs = options.kafkaAnsweredMs();
      const silentMs = Math.max(0, clock.monotonicMs() - (answeredMs ?? startedMs));
      const silentSeconds = silentMs / 1_000;
      const isSilent = silentSeconds >= KAFKA_IS_SILENT_SECONDS;
      const at = isoNow();
      const answeredAt = new Date(Date.parse(at) - silentMs).toISOString();
      const known = {
        kafkaSilentSeconds: silentSeconds,
        kafkaIsSilent: isSilent,
        sources: sources.status(isSilent ? answeredAt : null),
        processor: options.processor === null ? null : processor.status(isSilent),
      };
      const kafka = { hasAnswered: answeredMs !== null, isSilent, answeredAt, silentSeconds };
      const alarms = alarmsOf({ ...known, kafka, clocksAheadMs: options.clocksAheadMs, at });
      const gone = `not found any more: ${missing.join(', ')}. If they were deleted: \`spconnect topics create\`.`;
      const shown = missing.length === 0 || !topics.ok ? topics : { ...topics, ok: false, why: gone };
      const checks = readinessChecks({ ...known, kafka, topics: shown, isStopping: signal.aborted, at });
      const ready = checks.every(({ ok }) => ok);
      const process = { version, prefix, kafkaClusterId, at, startedAt };
      return { ...process, ready, checks, alarms, ...known, notifications: [...notifications] };
    },
  };
}

function walkText({ walk, rows, added, corrected, gone }: WalkCompleted): string {
  const counts = Object.entries({ rows, added, corrected, gone }).map(([name, count]) => `${countText(count)} ${name}`);
  return `Walk ${walk}: ${counts.join(', ')}.`;
}

function errorText(error: unknown, source: string | undefined): string {
  if (!(error instanceof Error)) return String(error);
  const own =
    error instanceof ConnectorError
      ? [`${error.code}: ${error.message}`, adviceBehind(error, source)].filter((line) => line !== '').join('\n')
      : `${error.name}: ${error.message}`;
  const because = error.cause instanceof Error ? error.cause.message : '';
  return own.includes(because) ? own : `${own}\nCaused by: ${because}`;
}
