import { ConnectorError } from '../../errors.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { partitionsOf, type TopicSpecification } from '../../kafka/topic.ts';
import type { PriceProblem } from '../../observability/processor-events.ts';
import type { AskedInstrument } from '../../processor/core/instrument.ts';
import { retry } from '../../support/retry.ts';
import { systemRandom } from '../../support/system-random.ts';
import type { Installation } from '../installation.ts';
import { COMPLETE, progressOf } from './backfill-instruments.ts';
import type { Page } from './backfill-page.ts';
import type { WindowRange } from './backfill-plan.ts';

const BACK_OFF = { initialMs: 500, maximumMs: 30_000 };
const MOST_OPENINGS = 10;

export interface SeriesBackfill {
  /** In the order of `progressOf`. */
  readonly instruments: readonly AskedInstrument[];
  readonly slices: readonly WindowRange[];
  readonly instrumentsPerPage: number;
  readonly topic: TopicSpecification;
  readonly transactionalId: string;
  /** Its committed offset on the first partition of the topic is the progress. */
  readonly groupId: string;
  readonly ask: (
    instruments: readonly AskedInstrument[],
    slice: WindowRange,
    isNews: (instrumentId: string, problem: PriceProblem) => boolean,
  ) => Promise<Page>;
  readonly onProgress: (progress: SeriesProgress) => void;
}

export interface SeriesProgress {
  readonly instruments: number;
  /** Of these, with what earlier runs have done. */
  readonly done: number;
  /** By this run. */
  readonly windows: number;
  readonly deadLetters: number;
  /** Products for which the provider gave no prices to this run, and why. The same request does not ask for them again. */
  readonly failed: readonly FailedProduct[];
}

export interface FailedProduct {
  readonly isin: string;
  readonly problem: PriceProblem;
}

/**
 * Writes one series, page by page: the windows of some instruments, their dead letters and the progress are one
 * transaction. A run that is killed leaves nothing of its last page, and the next one goes on from the progress. Only one
 * run at a time writes a topic: another one fences it.
 *
 * @throws ConnectorError as the writer and the provider's client do; or the signal's reason.
 */
export async function backfillSeries(
  { kafka, topics, clock, signal }: Installation,
  backfill: SeriesBackfill,
): Promise<SeriesProgress> {
  const { instruments, instrumentsPerPage, topic, groupId, transactionalId, onProgress } = backfill;
  const place = { topic: topic.name, partition: 0 };
  const written = { windows: 0, deadLetters: 0 };
  const failed = new Map<string, PriceProblem>();
  const writer = kafka.transactionalWriter(transactionalId, {
    abortHanging: () => [...partitionsOf(topic), ...partitionsOf(topics['dead-letters'])],
    abortHangingOffset: { groupId, ...place },
  });

  async function writeFrom(next: bigint): Promise<SeriesProgress> {
    let done = instruments.findIndex((instrument) => progressOf(instrument) >= next);
    if (done < 0) done = instruments.length;
    const progress = () => ({ instruments: instruments.length, done, ...written, failed: failedOf(failed) });
    const report = () => onProgress(progress());
    report();
    while (done < instruments.length) {
      const page = pageFrom(instruments, done, instrumentsPerPage);
      const answered = await askFor(page, backfill);
      done += page.length;
      const following = instruments[done];
      const offset = following === undefined ? COMPLETE : progressOf(following);
      await commit(answered, offset);
      report();
    }
    if (next !== COMPLETE && instruments.length === 0) await commit([], COMPLETE);
    return progress();
  }

  async function commit(pages: readonly Page[], offset: bigint): Promise<void> {
    const records: OutgoingRecord[] = pages.flatMap((page) => page.records);
    await writer.commit({ records, consumerOffset: { groupId, ...place, offset } });
    for (const page of pages) {
      written.windows += page.windows;
      written.deadLetters += page.deadLetters;
      for (const { isin, problem } of page.failed) failed.set(isin, problem);
    }
  }

  const session = async () => {
    const next = await writer.open((opening) => kafka.consumerOffset(groupId, place, opening), signal);
    return writeFrom(next ?? 0n);
  };
  const mayRetry = (error: unknown) =>
    error instanceof ConnectorError && error.action === 'reopenWriter' && error.code !== 'WRITER_FENCED';
  try {
    return await retry(session, {
      backOff: BACK_OFF,
      attempts: MOST_OPENINGS,
      mayRetry,
      clock,
      random: systemRandom,
      signal,
    });
  } finally {
    await writer.close();
  }
}

/** Instruments with the same progress are never parted: the second would be taken for done, or the first be done twice. */
function pageFrom(instruments: readonly AskedInstrument[], from: number, size: number): readonly AskedInstrument[] {
  let end = Math.min(from + size, instruments.length);
  const progress = (at: number) => progressOf(instruments[at] as AskedInstrument);
  while (end < instruments.length && progress(end) === progress(end - 1)) end += 1;
  return instruments.slice(from, end);
}

function failedOf(failed: ReadonlyMap<string, PriceProblem>): readonly FailedProduct[] {
  return [...failed].map(([isin, problem]) => ({ isin, problem }));
}

/** What failed is a dead letter once, although each part of the range is asked for. */
async function askFor(page: readonly AskedInstrument[], { slices, ask }: SeriesBackfill): Promise<readonly Page[]> {
  const known = new Set<string>();
  const isNews = (id: string, problem: PriceProblem) => known.size < known.add(`${id} ${problem}`).size;
  const answered: Page[] = [];
  for (const slice of slices) answered.push(await ask(page, slice, isNews));
  return answered;
}
