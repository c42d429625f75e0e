import { ConnectorError } from '../errors.ts';
import type { Random } from '../support/back-off.ts';
import { type BulkFailure, bulkFailureOf, isMisfit } from './bulk-failure.ts';
import type { PriceQuestion } from './bulk-prices.ts';
import type { KindCalls } from './kind-calls.ts';

/*
 * A call that failed does not say who is to blame: its items, or the provider, or the requests as such. Then others are
 * asked for, each alone.
 */

/** After so many items were refused alone with no answer between them, our requests may be at fault and not the items. */
const REFUSALS_BELIEVED = 20;

type Calls = Pick<KindCalls, 'ask'>;
type Asking = Parameters<KindCalls['ask']>[2];

/** So many of these, far from each other. */
export function spreadOver<Item>(items: readonly Item[], most: number, random: Random): readonly Item[] {
  const count = Math.min(most, items.length);
  const phase = random();
  return Array.from({ length: count }).flatMap((_, stretch) => {
    const at = Math.floor(((stretch + phase) * items.length) / count);
    return items.slice(at, at + 1);
  });
}

/** Asks for them at once, since what hangs may hang for long. @throws the signal's reason. */
export async function isAnyAnswered(others: readonly PriceQuestion[], calls: Calls, asking: Asking): Promise<boolean> {
  const isAnswered = await Promise.any(others.map((other) => calls.ask([other], 'suspected', asking))).then(
    () => true,
    () => false,
  );
  asking.signal.throwIfAborted();
  return isAnswered;
}

/**
 * Whether so many items in a row were refused, up to this failure, that the requests may be wrong. When one of the others
 * is answered, they are right, and the refused items are to blame.
 *
 * @throws ConnectorError when all others are refused, too; or the signal's reason.
 */
export async function areRequestsDoubted(
  { failure, error }: { readonly failure: BulkFailure; readonly error: ConnectorError },
  by: {
    readonly calls: Pick<KindCalls, 'ask' | 'refusedAlone' | 'answeredLast'>;
    readonly sampleOthers?: () => readonly PriceQuestion[];
    readonly asking: Asking;
  },
): Promise<boolean> {
  const { calls, sampleOthers, asking } = by;
  const { refusedAlone } = calls;
  if (failure.kind !== 'refused' || isMisfit(failure) || refusedAlone < REFUSALS_BELIEVED) return false;
  if (sampleOthers === undefined) return true;
  // First the one that was answered last: where few have prices, a sample may find none of them.
  const others = [...calls.answeredLast, ...sampleOthers()];
  let areAllRefused = true;
  for (const other of others) {
    const otherFailure = await failureOf(other, calls, asking);
    if (otherFailure === null) return false;
    areAllRefused &&= otherFailure.kind === 'refused' && !isMisfit(otherFailure);
  }
  if (!areAllRefused) return true;
  const text = `Found ${refusedAlone} products in a row refused, and ${others.length} others; expected one that is answered`;
  throw new ConnectorError(error.code, `${text}: ${error.message}`, { cause: error, fields: error.fields });
}

/** Null when it was answered. */
async function failureOf(question: PriceQuestion, calls: Calls, asking: Asking): Promise<BulkFailure | null> {
  try {
    await calls.ask([question], 'suspected', asking);
    return null;
  } catch (error) {
    asking.signal.throwIfAborted();
    if (!(error instanceof ConnectorError)) throw error;
    return bulkFailureOf(error);
  }
}
