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

const LOOKS_PER_TIMEOUT = 10;
const SHORTEST_LOOK_MS = 100;

/**
 * Patch I: each connection of kafkajs looks ten times a second for requests without a response, also when it has sent
 * none. An idle processor has some twenty connections, one or two of them with a request under way, and these looks took
 * most of its CPU. Here a connection is looked at only while it has a request under way, ten times per time-out.
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
    afterwards(Math.max(queue.requestTimeout / LOOKS_PER_TIMEOUT, SHORTEST_LOOK_MS), () => {
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
