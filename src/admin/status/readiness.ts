import { durationText, secondsBetween, timeText } from '../texts.ts';
import type { Alarm, ProcessorStatus, ReadinessCheck, SourceStatus } from './status.ts';

/** A failure that lasts longer than this is shown as an alarm. */
const PASSES_WITHIN_SECONDS = 30;

interface Kafka {
  readonly hasAnswered: boolean;
  readonly isSilent: boolean;
  /** The time of Kafka's last answer; the start of the process if Kafka has never answered. */
  readonly answeredAt: string;
  readonly silentSeconds: number;
}

type ShownKafka = Kafka & { readonly answeredText: string };

/** After this time without an answer, Kafka counts as silent. A healthy process gets an answer every few seconds. */
export const KAFKA_IS_SILENT_SECONDS = 10;
/** A shorter silence is normal and is not shown. */
const SHOWN_SILENCE_SECONDS = 2;
/** While Kafka is silent, this reason replaces other reasons, because the silence is their cause. */
const WAITS = 'waits for Kafka';

interface Known {
  readonly kafka: Kafka;
  readonly topics: ReadinessCheck;
  readonly isStopping: boolean;
  readonly sources: readonly SourceStatus[];
  readonly processor: ProcessorStatus | null;
  readonly clocksAheadMs: ReadonlyMap<string, number>;
  readonly at: string;
}

/**
 * A source is ready if its earlier writers are fenced, its offset is read, and its schemas are registered. It is also
 * ready if it is paused or stopped, or if its partition belongs to another replica.
 */
export function readinessChecks(known: Omit<Known, 'clocksAheadMs'>): readonly ReadinessCheck[] {
  const { topics, isStopping, sources, processor, at } = known;
  const kafka = { ...known.kafka, answeredText: timeText(known.kafka.answeredAt, at) };
  return [
    check('process', !isStopping, isStopping ? 'stopping' : 'running'),
    kafkaCheck(kafka),
    topics,
    ...sources.map((source) => sourceCheck(source, kafka)),
    ...(processor === null ? [] : [processorCheck(processor, kafka)]),
  ];
}

function kafkaCheck({ hasAnswered, isSilent, answeredText, silentSeconds }: ShownKafka): ReadinessCheck {
  if (!hasAnswered) return check('kafka', false, 'has not answered yet');
  if (isSilent) return check('kafka', false, `has not answered since ${answeredText}`);
  if (silentSeconds < SHOWN_SILENCE_SECONDS) return check('kafka', true, 'answers');
  const text = `answered ${durationText(silentSeconds)} ago; after ${KAFKA_IS_SILENT_SECONDS} s, Kafka counts as silent`;
  return check('kafka', true, text);
}

/** A greater difference between two clocks is shown as an alarm. The alert ClockWrong has the same limit. */
const CLOCK_IS_WRONG_MS = 60_000;

/** The current problems with their ages. All retries with the same error code share one alarm. */
export function alarmsOf(known: Omit<Known, 'topics' | 'isStopping'>): readonly Alarm[] {
  const { kafka, sources, processor, clocksAheadMs, at } = known;
  const secondsSince = (instant: string) => secondsBetween(instant, at);
  const alarms: Alarm[] = [];
  const add = (isGrave: boolean, text: string) => alarms.push({ isGrave, text });
  if (kafka.isSilent) {
    const length = durationText(secondsSince(kafka.answeredAt));
    const what = kafka.hasAnswered ? `for ${length}` : `since this process began, ${length} ago`;
    add(true, `Kafka has not answered ${what}: nothing is written.`);
  }
  const all = [
    ...sources.map((source) => ({ ...source, called: `source ${source.name}` })),
    ...(processor === null ? [] : [{ ...processor, called: 'the price processor' }]),
  ];
  for (const { called, task, changedAt, trace } of all) {
    const ago = durationText(secondsSince(changedAt));
    if (task === 'failed') add(true, `Failed ${ago} ago (${codeOf(trace)}), waits for an operator: ${called}.`);
  }
  for (const [clock, ms] of clocksAheadMs) {
    if (Math.abs(ms) <= CLOCK_IS_WRONG_MS) continue;
    const side = ms > 0 ? 'ahead of' : 'behind';
    add(false, `The clock of ${clock} is ${durationText(Math.abs(ms) / 1_000)} ${side} the clock of this machine.`);
  }
  if (kafka.isSilent) return alarms;
  const retrying = all.flatMap(({ called, trouble, otherTrouble }) =>
    [trouble, otherTrouble].flatMap((one) =>
      one === null ? [] : [{ ...one, called, code: codeOf(one.message), seconds: secondsSince(one.since) }],
    ),
  );
  const lasting = retrying.filter(({ seconds }) => seconds >= PASSES_WITHIN_SECONDS);
  for (const [code, some] of Map.groupBy(lasting, (one) => one.code)) {
    const length = durationText(Math.max(...some.map(({ seconds }) => seconds)));
    const which = some.map(({ called, part }) => (part === null ? called : `${called} (${part})`));
    // `length` is the longest time of these units. The text says `now`, because their earlier failures may have another code.
    const upTo = some.length > 1 ? 'up to ' : '';
    add(false, `Failing for ${upTo}${length}, now with ${code}, and retried: ${which.join(', ')}.`);
  }
  for (const { name, task, refusedAt } of sources) {
    if (refusedAt === null || !['running', 'paused'].includes(task)) continue;
    const length = durationText(secondsSince(refusedAt));
    // Only a running source asks, and learns if the provider still refuses the offset.
    const text =
      task === 'running' ? `has refused the offset for ${length}` : `refused the offset, at first ${length} ago`;
    add(false, `The provider ${text}: source ${name}.`);
  }
  return alarms;
}

function sourceCheck(source: SourceStatus, { isSilent, answeredText }: ShownKafka): ReadinessCheck {
  const { name, wanted, task, owned, writerTrouble, schemasRegistered, trace, trouble } = source;
  const isReady = (ok: boolean, why: string) => check(`source ${name}`, ok, why);
  if (task === 'failed') return isReady(false, `failed: ${problemOf(trace)}`);
  if (wanted === 'stopped') return isReady(true, 'stopped as requested');
  if (owned === false)
    return isReady(
      true,
      isSilent
        ? `its partition belonged to another replica at ${answeredText}`
        : 'its partition belongs to another replica',
    );
  if (isSilent) return isReady(false, WAITS);
  if (writerTrouble !== null) return isReady(false, `its writer is being opened again: ${problemOf(writerTrouble)}`);
  if (task === 'unassigned') {
    const why = trouble === null ? '' : `: ${problemOf(trouble.message)}`;
    return isReady(false, `its earlier writers are not fenced yet, and its offset is not read yet${why}`);
  }
  if (task === 'paused') return isReady(true, 'paused as requested');
  if (!schemasRegistered) return isReady(false, 'its schemas are not registered yet');
  return isReady(true, 'its earlier writers are fenced, its offset is read, and its schemas are registered');
}

/** A partition is ready if its earlier writers are fenced, and its offset and its table of instruments are read. */
function processorCheck(processor: ProcessorStatus, { isSilent }: Kafka): ReadinessCheck {
  const { name, wanted, task, trace, trouble, partitions, assigned, writerTrouble } = processor;
  const isReady = (ok: boolean, why: string) => check(name, ok, why);
  if (task === 'failed') return isReady(false, `failed: ${problemOf(trace)}`);
  if (wanted !== 'running') return isReady(true, `${wanted} as requested`);
  if (isSilent) return isReady(false, WAITS);
  if (task !== 'running') {
    const why = trouble === null ? ' yet' : `: ${problemOf(trouble.message)}`;
    return isReady(false, `has not joined its group${why}`);
  }
  if (partitions.length < assigned) {
    const why = writerTrouble === null ? '' : `: ${problemOf(writerTrouble)}`;
    return isReady(false, `${partitions.length} of its ${assigned} assigned partitions are ready${why}`);
  }
  return isReady(true, `has joined its group; all ${assigned} assigned partitions are ready`);
}

function check(name: string, ok: boolean, why: string): ReadinessCheck {
  return { name, ok, why };
}

/** Returns an error text with its remedy and without its cause, in one line. */
function problemOf(text: string | null): string {
  return text?.split('\nCaused by: ')[0]?.replace(/\s+/g, ' ') ?? '';
}

/** Returns the code of an error text, such as `PROVIDER_BUSY`, or else the type of the error. */
function codeOf(text: string | null): string {
  return text?.split(':')[0] ?? '';
}
