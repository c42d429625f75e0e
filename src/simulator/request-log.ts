import type { Endpoint } from './faults/fault.ts';

/** One request as the simulator saw it; never with a header, so never with a token. */
export interface SeenRequest {
  readonly endpoint: Endpoint | 'unknown';
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Simulated time, milliseconds since the epoch. */
  readonly atMs: number;
  readonly status: number;
  /** Kinds of the faults that struck it. */
  readonly faults: readonly string[];
}

export interface RequestLog {
  add(request: SeenRequest): void;
  count(endpoint: Endpoint): number;
  readonly counts: Readonly<Record<string, number>>;
  /** The newest requests, oldest first. */
  readonly last: readonly SeenRequest[];
  clear(): void;
}

const MAX_REQUESTS = 2_000;

export function createRequestLog(): RequestLog {
  const counts = new Map<string, number>();
  let last: SeenRequest[] = [];
  return {
    add(request) {
      counts.set(request.endpoint, (counts.get(request.endpoint) ?? 0) + 1);
      last.push(request);
      if (last.length > MAX_REQUESTS) last = last.slice(MAX_REQUESTS / 2);
    },
    count: (endpoint) => counts.get(endpoint) ?? 0,
    get counts() {
      return Object.fromEntries(counts);
    },
    get last() {
      return last;
    },
    clear() {
      counts.clear();
      last = [];
    },
  };
}
