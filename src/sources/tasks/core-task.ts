import { setImmediate as afterOtherWork } from 'node:timers/promises';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import { keyedRecord, type OutgoingRecord, type TargetTopic } from '../../kafka/record.ts';
import type { Events, Polled, SourceStarted, StreamPlace } from '../../observe/events.ts';
import type { NotificationContent } from '../../records/avro/record-encoder.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { pollWaitMs, type SourceTask, type SourceTurn } from '../source-worker.ts';
import { type FollowerOffset, writeFollowerOffset } from '../stream/committed-stream.ts';
import type { FollowerCore } from '../stream/follower-core.ts';
import type {
  FollowerAnswer,
  FollowerDecision,
  FollowerNotification,
  FollowerRequest,
} from '../stream/follower-messages.ts';
import { isProviderBehind } from '../stream/retention-gap.ts';
import type { FollowedResponse, FollowedStream } from './followed-stream.ts';

export interface CoreTaskOptions {
  readonly source: string;
  readonly notifications: TargetTopic;
  readonly encodeNotification: (notification: NotificationContent, signal: AbortSignal) => Promise<Buffer>;
  readonly events: Events;
  readonly clock: Clock;
  readonly random: Random;
}

/** The decision of the core about one response. */
export interface Decided<Decision, Row> {
  readonly decision: Decision;
  /** The stream's response; null if the decision is about a response of the list, or about no response. */
  readonly answer: FollowedResponse<Row> | null;
  readonly poll: Pick<Polled, 'endpoint' | 'rows' | 'durationMs'> | null;
  /** The provider's refusal of the offset. */
  readonly err?: Error;
}

export interface CoreTaskParts<Decision extends FollowerDecision<unknown, unknown>, Row, Request> {
  readonly core: {
    readonly isCaughtUp: boolean;
    readonly offset: Pick<FollowerOffset, 'since' | 'held'> | null;
    secondsToRetentionCliff(nowMs: number, wallMs: number): number | null;
  };
  /** `wake` ends a wait early. Before `listFreeMs`, no request to the list begins. */
  next(nowMs: number, listFreeMs: number): { readonly request: Request | Wait; readonly wake?: AbortSignal };
  /** Undefined for a request that does not concern the list. */
  ofList(request: Request): AskList<Decision, Row> | undefined;
  ask(request: Request, signal: AbortSignal): Promise<Decided<Decision, Row>>;
  records(asked: Decided<Decision, Row>): OutgoingRecord[];
  notification(
    notification: Decision['notifications'][number],
    offset: NonNullable<Decision['offset']>,
  ): NotificationContent;
  writeOffset(offset: NonNullable<Decision['offset']>): SourceOffset;
  started?(): Pick<SourceStarted, 'walk'>;
  place?(): Partial<StreamPlace>;
  committed(asked: Decided<Decision, Row>, commitMs: number): void;
}

/** Requests the list. Returns a function that gives the response to the core, or null if the walk no longer needs the response. */
export type AskList<Decision, Row> = (signal: AbortSignal) => Promise<() => Decided<Decision, Row> | null>;

interface Wait {
  readonly kind: 'wait';
  readonly ms: number;
}

const nothing = (waitMs: number): SourceTurn => ({ records: [], offset: null, waitMs, committed() {} });

/** The place before a gap. `spconnect offsets set` finds the time of this place here. */
function placeHeaders({ source, gapFrom, gapSinceFrom }: NotificationContent): Readonly<Record<string, string>> {
  if (typeof gapFrom !== 'number' || typeof gapSinceFrom !== 'string') return {};
  return { 'spc-source': source, 'spc-since': gapSinceFrom, 'spc-received': new Date(gapFrom).toISOString() };
}

/** The core chooses each request and decides about each response. The task sends requests and builds records. */
export function createCoreTask<Decision extends FollowerDecision<unknown, unknown>, Row, Request>(
  options: CoreTaskOptions,
  parts: CoreTaskParts<Decision, Row, Request>,
): SourceTask {
  const { source, notifications, encodeNotification, events, clock, random } = options;
  const { core } = parts;
  const list = new ListRequests<() => Decided<Decision, Row> | null>(options);
  const place = () => ({
    source,
    since: core.offset?.since ?? null,
    secondsToRetentionCliff: core.secondsToRetentionCliff(clock.monotonicMs(), clock.wallMs()),
    ...(core.offset?.held && isProviderBehind(core.offset) && { providerEndsAt: core.offset.held.since }),
    ...parts.place?.(),
  });
  events.sourceStarted({ ...place(), ...parts.started?.() });

  async function recordsOf(
    asked: Decided<Decision, Row>,
    offset: NonNullable<Decision['offset']>,
    signal: AbortSignal,
  ): Promise<OutgoingRecord[]> {
    const records = parts.records(asked);
    for (const notification of asked.decision.notifications) {
      const content = parts.notification(notification, offset);
      records.push(
        keyedRecord(notifications, source, await encodeNotification(content, signal), placeHeaders(content)),
      );
    }
    return records;
  }

  function committed(asked: Decided<Decision, Row>, commitMs: number): void {
    const { decision, poll, err } = asked;
    decision.committed();
    if (poll !== null) events.polled({ ...place(), ...poll, caughtUp: core.isCaughtUp });
    if (decision.discarded !== null) events.responseDiscarded({ source, why: decision.discarded, ...(err && { err }) });
    parts.committed(asked, commitMs);
  }

  async function turnOf(asked: Decided<Decision, Row>, signal: AbortSignal): Promise<SourceTurn> {
    const offset: Decision['offset'] = asked.decision.offset;
    if (offset === null || offset === undefined) {
      committed(asked, 0);
      return nothing(0);
    }
    return {
      records: await recordsOf(asked, offset, signal),
      offset: parts.writeOffset(offset),
      waitMs: 0,
      committed: (commitMs) => committed(asked, commitMs),
    };
  }

  return {
    async poll(signal): Promise<SourceTurn> {
      const listed = list.take()?.();
      if (listed) return turnOf(listed, signal);
      const { request, wake } = parts.next(clock.monotonicMs(), list.freeMs);
      if (isWait(request)) {
        const wakes = [wake, list.ending].filter((one) => one !== undefined);
        // A jitter of 10 %, so that many clients do not send requests at the same time.
        return { ...nothing(Math.ceil(request.ms * (1 - random() / 10))), wake: AbortSignal.any(wakes) };
      }
      const askList = parts.ofList(request);
      if (askList === undefined) return turnOf(await parts.ask(request, signal), signal);
      await list.begin(() => askList(signal), signal, core.offset === null);
      return nothing(0);
    },
  };
}

function isWait(request: unknown): request is Wait {
  return (request as Wait).kind === 'wait';
}

type ListOptions = Pick<CoreTaskOptions, 'source' | 'clock' | 'random'> & {
  readonly events: Pick<Events, 'attemptFailed'>;
};

/** Sends requests to the instrument list, one at a time. The stream does not wait for them. Exported for tests. */
export class ListRequests<Answer> {
  readonly #options: ListOptions;
  #failures = 0;
  #freeMs = 0;
  /** Aborts at the end of the current request; null if no request is under way. */
  #ending: AbortController | null = null;
  /** Returns the response, or throws the error of the request. */
  #outcome: (() => Answer) | null = null;

  constructor(options: ListOptions) {
    this.#options = options;
  }

  /** When the next request may begin, monotonic; infinite during a request. */
  get freeMs(): number {
    return this.#ending === null ? this.#freeMs : Number.POSITIVE_INFINITY;
  }

  /** Aborts when the current request ends, to end a wait early; undefined if no request is under way. */
  get ending(): AbortSignal | undefined {
    return this.#ending?.signal;
  }

  /** Begins a request. If `isAwaited`, waits for the response. Otherwise waits for one turn of the event loop, in which a prefetched page arrives. */
  async begin(request: () => Promise<Answer>, signal: AbortSignal, isAwaited = false): Promise<void> {
    const ending = new AbortController();
    this.#ending = ending;
    const ended = this.#follow(request, signal).finally(() => {
      this.#ending = null;
      ending.abort(new Error('The list has answered.'));
    });
    await (isAwaited ? ended : afterOtherWork());
  }

  /** Returns a response once; otherwise null. @throws an error that no repetition corrects, or the signal's reason. */
  take(): Answer | null {
    const outcome = this.#outcome;
    this.#outcome = null;
    return outcome === null ? null : outcome();
  }

  async #follow(request: () => Promise<Answer>, signal: AbortSignal): Promise<void> {
    try {
      const answer = await request();
      this.#outcome = () => answer;
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) this.#outcome = throwing(signal.reason);
      else this.#failed(error);
    }
  }

  /** Schedules a repetition if a repetition can help; else keeps the error for `take`. */
  #failed(cause: unknown): void {
    const { source, events, clock, random } = this.#options;
    try {
      const failures = this.#failures + 1;
      const waitMs = pollWaitMs(cause, failures, random);
      this.#failures = failures;
      this.#freeMs = clock.monotonicMs() + waitMs;
      events.attemptFailed({ source, endpoint: 'instruments', failures, waitMs, err: cause as Error });
    } catch (error) {
      this.#outcome = throwing(error);
    }
  }
}

function throwing(error: unknown): () => never {
  return () => {
    throw error;
  };
}

export async function askStream<Decision, Row>(
  { stream, endpoint }: { readonly stream: FollowedStream<Row>; readonly endpoint: Polled['endpoint'] },
  request: Exclude<FollowerRequest, { kind: 'wait' }>,
  decide: (answer: FollowerAnswer, rows: readonly Row[]) => Decision,
  signal: AbortSignal,
): Promise<Decided<Decision, Row>> {
  const other = (answer: FollowerAnswer) => aside<Decision, Row>(decide(answer, []));
  if (request.kind === 'start') return other({ kind: 'start', ...(await stream.start(signal)) });
  const outcome = await stream.after(request.since, signal);
  if (request.kind === 'verifyStart') {
    if (outcome.kind === 'refused') return other({ kind: 'verifyStart', taken: false, items: 0, next: null });
    const { decoded, next } = outcome.answer;
    return other({ kind: 'verifyStart', taken: true, items: decoded.rows.length, next });
  }
  if (outcome.kind === 'refused') return { ...other(outcome), err: outcome.err };
  const { answer } = outcome;
  const { decoded, next, nextId, time, fetchMs } = answer;
  const rows = decoded.rows.length;
  return {
    decision: decide({ kind: 'stream', items: rows, next, nextId, time }, decoded.rows),
    answer,
    poll: { endpoint, rows, durationMs: fetchMs },
  };
}

export async function askStart<Decision, Row>(
  { stream, clock }: { readonly stream: FollowedStream<Row>; readonly clock: Clock },
  decide: (answer: Extract<FollowerAnswer, { kind: 'start' }>) => Decision,
  signal: AbortSignal,
): Promise<() => Decided<Decision, Row>> {
  const askedMs = clock.monotonicMs();
  const start = await stream.start(signal);
  const poll = { endpoint: 'instruments', rows: 0, durationMs: clock.monotonicMs() - askedMs } as const;
  return () => ({ ...aside(decide({ kind: 'start', ...start, askedMs })), poll });
}

export function aside<Decision, Row>(decision: Decision): Decided<Decision, Row> {
  return { decision, answer: null, poll: null };
}

/** Returns the headers that name the origin of a record. */
export function provenance(from: {
  readonly source: string;
  readonly walk?: number | undefined;
  /** Our offset before the transaction; null if there is no offset. */
  readonly since: string | null;
  readonly endpoint: string;
  readonly dateMs: number;
}): Record<string, string> {
  const { source, walk, since, endpoint, dateMs } = from;
  return {
    'spc-source': source,
    ...(walk !== undefined && { 'spc-walk': String(walk) }),
    ...(since !== null && { 'spc-since': since }),
    'spc-endpoint': endpoint,
    'spc-received': new Date(dateMs).toISOString(),
  };
}

export interface FollowerTaskOptions<Row> extends CoreTaskOptions {
  readonly core: FollowerCore;
  readonly stream: FollowedStream<Row>;
  readonly endpoint: string;
}

export interface FollowerRows<Row> {
  readonly kind: Polled['endpoint'];
  records(rows: readonly Row[], headers: Readonly<Record<string, string>>): OutgoingRecord[];
  notification(notification: FollowerNotification): NotificationContent;
  committed(answer: FollowedResponse<Row>, commitMs: number): void;
}

type Request = Exclude<FollowerRequest, { kind: 'wait' }>;

/** Creates the task of a source that only follows a stream. Every row becomes a record or a dead letter. */
export function createFollowerTask<Row>(options: FollowerTaskOptions<Row>, rows: FollowerRows<Row>): SourceTask {
  const { source, core, stream, endpoint, events, clock } = options;
  const answered = (answer: FollowerAnswer) => core.answered(answer, clock.monotonicMs());
  return createCoreTask<FollowerDecision, Row, Request>(options, {
    core,
    next: (nowMs, listFreeMs) => ({ request: core.next(nowMs, listFreeMs) }),
    ofList(request) {
      if (request.kind !== 'start' || !core.startsFromList) return undefined;
      return (signal) => askStart({ stream, clock }, answered, signal);
    },
    ask: (request, signal) => askStream({ stream, endpoint: rows.kind }, request, answered, signal),
    records({ decision: { writes }, answer }) {
      if (!writes || answer === null) return [];
      const { decoded, time } = answer;
      return rows.records(
        decoded.rows,
        provenance({ source, since: core.offset?.since ?? null, endpoint, dateMs: time.dateMs }),
      );
    },
    notification: (notification) => rows.notification(notification),
    writeOffset: writeFollowerOffset,
    committed({ decision, answer }, commitMs) {
      if (decision.writes && answer !== null) rows.committed(answer, commitMs);
      for (const notification of decision.notifications) {
        const { message: text } = rows.notification(notification);
        events.notified({ source, kind: notification.kind, text });
      }
    },
  });
}
