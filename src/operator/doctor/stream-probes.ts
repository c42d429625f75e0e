import { recordDigest } from '../../avro/record-digest.ts';
import type { InstrumentsProvider } from '../../connector/tasks/instruments-provider.ts';
import { ConnectorError } from '../../errors.ts';
import { newestEventOffset, nextEventOffset } from '../../provider/page-link.ts';
import type { ReferenceData } from '../../provider/reference-data.ts';
import type { Clock } from '../../support/clock.ts';
import { type Finding, finding, largestTaken, missing, type Probed, probe, probeStatus, rowsOf } from './finding.ts';
import { sizeFinding } from './list-probes.ts';

interface StreamProbe {
  readonly referenceData: ReferenceData;
  /** Two rows at a time. */
  readonly provider: InstrumentsProvider;
  readonly maxEvents: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const LARGER_ANSWERS = [10_000, 1_000];
const OLDEST_OFFSET = '0-0';
const NO_OFFSET = 'no-offset';
/** How often the list is read until it has the state of an event. */
const LAG_LOOKS = 10;
const LAG_PAUSE_MS = 1_000;

/** The event stream from its newest offset: at most 6 requests, and 11 more when an event comes meanwhile. */
export async function probeStream(options: StreamProbe, start: string): Promise<readonly Finding[]> {
  const { referenceData, maxEvents, signal } = options;
  const events = (since: string, count: number): Promise<Probed> =>
    probe((consume) => referenceData.events({ since, maxEvents: count }, consume, signal));
  const largest = await largestTaken([...LARGER_ANSWERS, maxEvents], (size) =>
    probeStatus((consume) => referenceData.events({ since: start, maxEvents: size }, consume, signal)),
  );
  return [
    sizeFinding('maxEvents', largest, maxEvents),
    upToDateFinding(referenceData.baseUrl, await events(start, maxEvents)),
    expiredFinding(await events(OLDEST_OFFSET, 1)),
    malformedFinding(await events(NO_OFFSET, 1)),
  ];
}

function upToDateFinding(baseUrl: string, probed: Probed): Finding {
  const assumed =
    'nextId is the newest offset of the log, or of the response; with the latter, one more request shows the end';
  const what = 'end of the stream';
  if (probed.kind !== 'answer') return finding(what, missing(probed), assumed, false);
  const links = probed.body.get('links');
  const count = rowsOf(probed.body, 'events')?.length ?? 0;
  try {
    const next = nextEventOffset(links instanceof Map ? links : new Map(), baseUrl);
    const nextId = newestEventOffset(probed.body);
    const found = `${count} events, links.next ${next}, nextId ${nextId ?? 'of another form'}`;
    return finding(what, found, assumed, nextId !== null);
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    return finding(what, error.message, assumed, false);
  }
}

function expiredFinding(probed: Probed): Finding {
  const assumed = 'nothing, the oldest events, or a status from 400 on';
  if (probed.kind !== 'answer') {
    const isRefusal = probed.kind === 'refused' && probed.status < 500;
    return finding('an expired offset gets', missing(probed), assumed, isRefusal);
  }
  const count = rowsOf(probed.body, 'events')?.length ?? 0;
  return finding('an expired offset gets', count === 0 ? 'no events' : 'the oldest events', assumed, true);
}

function malformedFinding(probed: Probed): Finding {
  const assumed = 'a status from 400 on';
  const found = probed.kind === 'answer' ? 'a normal response' : missing(probed);
  return finding('a malformed offset gets', found, assumed, probed.kind === 'refused' && probed.status < 500);
}

/** How long the list needs for the state of an event; only where one came since `start`. */
export async function probeLag(options: StreamProbe, start: string, handoffMarginMs: number): Promise<Finding> {
  const { provider, clock, signal } = options;
  const what = 'the list lags the events';
  const assumed = `at most ${handoffMarginMs} ms (handoffMargin)`;
  try {
    const outcome = await provider.after(start, signal);
    const rows = outcome.kind === 'stream' ? outcome.answer.decoded.rows : [];
    const event = rows.findLast((row) => row.kind === 'event');
    if (event === undefined) return finding(what, 'no event came while this ran', assumed, null);
    const startedMs = clock.monotonicMs();
    const before = event.id > 0n ? String(event.id - 1n) : null;
    for (let looks = 1; looks <= LAG_LOOKS; looks++) {
      const page = await provider.page(before, signal);
      const row = page.decoded.rows.find(({ key }) => key === event.key);
      const lagMs = Math.round(clock.monotonicMs() - startedMs);
      if (row?.kind === 'record' && recordDigest(row.value) === event.digest) {
        return finding(what, `by ${lagMs} ms at most, of one event`, assumed, lagMs <= handoffMarginMs + LAG_PAUSE_MS);
      }
      await clock.sleep(LAG_PAUSE_MS, signal);
    }
    return finding(what, 'the list had another state, or had changed again', assumed, null);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ConnectorError)) throw error;
    return finding(what, error.code, assumed, null);
  }
}
