import { ConnectorError } from '../../errors.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { partitionsOf, type TopicSpecification } from '../../kafka/topic.ts';
import type { PriceProblem } from '../../observe/events.ts';
import type { AskedInstrument } from '../../prices/core/instrument.ts';
import { PROBLEM } from '../../prices/price-records.ts';
import type { Installation } from '../../run/installation.ts';
import { retry } from '../../support/retry.ts';
import { systemRandom } from '../../support/system-random.ts';
import { BACKFILL_GROUP, type WindowRange } from './backfill-plan.ts';

/** The committed offset of a backfill that is complete: the largest one. Exported for tests. */
export const COMPLETE = 2n ** 63n - 1n;
const BACK_OFF = { initialMs: 500, maximumMs: 30_000 };
const MOST_OPENINGS = 10;

/** The records of some instruments for a part of the range. */
export interface Page {
  readonly records: readonly OutgoingRecord[];
  readonly windows: number;
  readonly deadLetters: number;
  readonly failed: readonly FailedProduct[];
}

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
  ) => Promise<readonly Page[]>;
  readonly onProgress: (progress: SeriesProgress) => void;
}

export interface SeriesProgress {
  readonly instruments: number;
  /** In this run and earlier ones. */
  readonly done: number;
  /** In this run. */
  readonly windows: number;
  readonly deadLetters: number;
  /** Products without prices, in this run or an earlier one. The same request does not ask for them again. */
  readonly failed: readonly FailedProduct[];
}

interface FailedProduct {
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

  /** The dead letters of earlier runs are in the transactions of their progress. */
  async function readFailed(): Promise<void> {
    const isins = new Map(instruments.map(({ id, isin }) => [id, isin]));
    const partitions = partitionsOf(topics['dead-letters']).map(({ partition }) => partition);
    await kafka.logReader.readToEnd({
      topic: topics['dead-letters'].name,
      partitions,
      behindOpen: true,
      onRecord({ key, headers }) {
        const isin = headers[BACKFILL_GROUP] === groupId ? isins.get(String(key)) : undefined;
        if (isin !== undefined) failed.set(isin, headers[PROBLEM] as PriceProblem);
      },
      signal,
    });
  }

  async function writeFrom(next: bigint): Promise<SeriesProgress> {
    let done = instruments.findIndex((instrument) => progressOf(instrument) >= next);
    if (done < 0) done = instruments.length;
    const products = () => [...failed].map(([isin, problem]) => ({ isin, problem }));
    const progress = () => ({ instruments: instruments.length, done, ...written, failed: products() });
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
    const records = pages.flatMap((page) => page.records);
    await writer.commit({ records, consumerOffset: { groupId, ...place, offset } });
    for (const page of pages) {
      written.windows += page.windows;
      written.deadLetters += page.deadLetters;
      for (const { isin, problem } of page.failed) failed.set(isin, problem);
    }
  }

  const session = async () => {
    const committed = await writer.open((opening) => kafka.consumerOffset(groupId, place, opening), signal);
    if (committed !== null) await readFailed();
    return writeFrom(committed?.offset ?? 0n);
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

/** Instruments with the same progress stay on one page: else one of them is left out, or written twice. */
function pageFrom(instruments: readonly AskedInstrument[], from: number, size: number): readonly AskedInstrument[] {
  let end = Math.min(from + size, instruments.length);
  const progress = (at: number) => progressOf(instruments[at] as AskedInstrument);
  while (end < instruments.length && progress(end) === progress(end - 1)) end += 1;
  return instruments.slice(from, end);
}

/** A failure is a dead letter once, although each part of the range is requested. */
async function askFor(page: readonly AskedInstrument[], { slices, ask }: SeriesBackfill): Promise<readonly Page[]> {
  const known = new Set<string>();
  const isNews = (id: string, problem: PriceProblem) => known.size < known.add(`${id} ${problem}`).size;
  const answered: Page[] = [];
  for (const slice of slices) answered.push(...(await ask(page, slice, isNews)));
  return answered;
}

/**
 * The progress of a backfill that continues with this instrument: a consumer offset, from 0 and below `COMPLETE`. Two ids
 * that differ only by their sign share one.
 */
export function progressOf({ id }: Pick<AskedInstrument, 'id'>): bigint {
  const number = BigInt(id);
  const size = number < 0n ? -number : number;
  return size < COMPLETE ? size : COMPLETE - 1n;
}
