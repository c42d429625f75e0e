import { type Clock, afterwards as realAfterwards } from '../../../support/clock.ts';

/** The parts of kafkajs' queue of one connection's requests that are used here. */
export interface RequestQueue {
  readonly enforceRequestTimeout: boolean;
  readonly requestTimeout: number;
  readonly inflight: ReadonlyMap<number, SentRequest>;
}

interface SentRequest {
  /** Wall clock. */
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

type SendSocketRequest = (this: RequestQueue, request: unknown) => void;

/** Requests that were sent shortly after each other are looked at together. */
const SHORTEST_WAIT_MS = 100;

/**
 * Patch I: each connection of kafkajs looks ten times a second for requests without a response, also when it has sent
 * none. An idle processor has some twenty connections, one or two of them with a request under way, and these looks took
 * most of its CPU. Here a connection is looked at when the first of its requests under way can be late. No request has a
 * shorter time-out than its connection, so one that is sent meanwhile cannot be late before that.
 */
export function watchedWhileSent(
  original: SendSocketRequest,
  clock: Pick<Clock, 'wallMs'>,
  afterwards: typeof realAfterwards = realAfterwards,
): SendSocketRequest {
  const watched = new WeakSet<RequestQueue>();
  const watch = (queue: RequestQueue) => {
    if (watched.has(queue) || queue.inflight.size === 0) return;
    watched.add(queue);
    afterwards(untilLateMs(queue, clock.wallMs()), () => {
      watched.delete(queue);
      const nowMs = clock.wallMs();
      for (const request of [...queue.inflight.values()]) {
        if (nowMs - request.sentAt > request.requestTimeout) request.timeoutRequest();
      }
      watch(queue);
    });
  };
  return function sendSocketRequest(request) {
    original.call(this, request);
    if (this.enforceRequestTimeout) watch(this);
  };
}

/** Never longer than the time-out, however far the wall clock was set back since. */
function untilLateMs({ inflight, requestTimeout }: RequestQueue, nowMs: number): number {
  let waitMs = requestTimeout;
  for (const request of inflight.values()) waitMs = Math.min(waitMs, request.sentAt + request.requestTimeout - nowMs);
  return Math.max(waitMs + 1, SHORTEST_WAIT_MS);
}
