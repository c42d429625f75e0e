import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { ExchangeOutcome } from './exchange.ts';
import type { HttpResponse } from './http-response.ts';

/** Reports the outcome of one exchange to the observer; an exchange that our own stop has cut is not reported. */
export async function observedExchange<T>(
  observed: {
    readonly client: string;
    readonly endpoint: string;
    readonly clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
    readonly observer: HttpObserver | undefined;
    readonly signal: AbortSignal;
  },
  consume: (response: HttpResponse) => Promise<T>,
  exchange: (consume: (response: HttpResponse) => Promise<T>) => Promise<ExchangeOutcome<T>>,
): Promise<ExchangeOutcome<T>> {
  const { client, endpoint, clock, observer, signal } = observed;
  const startedAtMs = clock.monotonicMs();
  let response: HttpResponse | null = null;
  const ended = (code: string) =>
    observer?.requested({
      client,
      endpoint,
      code,
      durationMs: clock.monotonicMs() - startedAtMs,
      bytes: response?.bytes() ?? 0,
    });
  try {
    const outcome = await exchange((came) => {
      response = came;
      // A Date has whole seconds, the part behind them cut off.
      if (came.date !== null) observer?.clockSeen({ clock: client, aheadMs: came.date + 500 - clock.wallMs() });
      return consume(came);
    });
    ended(outcome.accepted ? String((response as HttpResponse | null)?.status ?? '') : codeOf(outcome.error));
    return outcome;
  } catch (error) {
    if (!signal.aborted) ended(codeOf(error));
    throw error;
  }
}

/** The status of the response where the status is the failure, else the error's code. */
function codeOf(error: unknown): string {
  if (!(error instanceof ConnectorError)) return 'OTHER';
  const { status } = error.fields;
  return typeof status === 'number' ? String(status) : error.code;
}
