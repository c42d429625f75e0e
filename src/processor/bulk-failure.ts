import { ConnectorError, type ErrorAction } from '../errors.ts';
import type { BackOff } from '../support/back-off.ts';

/** What a failed call says about the batch. */
export type BulkFailure =
  /** Some item of it, or its size: its halves are asked for, and an item that is refused alone has failed. */
  | { readonly kind: 'refused'; readonly status: number | null; readonly mayBeSize: boolean }
  /** Its size: its halves are asked for; an item alone has failed as below. */
  | { readonly kind: 'tooLarge' }
  /** Nothing, as long as others fail too; where others are answered, some item of it. Null: no usable answer. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly isTimeout: boolean }
  /** Nothing at all: it is tried again for as long as it takes. */
  | { readonly kind: 'denied' };

/** What a failed call waits before it is tried again. An action without a row here ends the processor. */
const CALL_BACK_OFF: Readonly<Partial<Record<ErrorAction, BackOff>>> = {
  retry: { initialMs: 500, maximumMs: 60_000 },
  askForLess: { initialMs: 500, maximumMs: 60_000 },
  retrySlowly: { initialMs: 10_000, maximumMs: 300_000 },
};

/** An answer that came, but cannot be used, may be one item's doing; so may a server's failure. */
const MAY_BE_AN_ITEM = ['BODY_MALFORMED', 'BODY_INCOMPLETE', 'PROTOCOL_VIOLATION'];

export function bulkFailureOf(error: ConnectorError): BulkFailure {
  const { status } = error.fields;
  // The token endpoint and the registry have statuses too, which say nothing of what was asked for.
  const isRefusal = error.code === 'PROVIDER_REFUSED' || error.code === 'PROVIDER_ASKS_FOR_LESS';
  if (error.code === 'BULK_MISMATCH') return { kind: 'refused', status: null, mayBeSize: false };
  if (isRefusal && (status === 400 || status === 413)) return { kind: 'refused', status, mayBeSize: true };
  // Who names a time refuses the moment, not the items.
  if (error.retryAfterMs !== undefined) return { kind: 'denied' };
  if (error.code === 'BODY_TOO_LARGE') return { kind: 'tooLarge' };
  if (error.code === 'PROVIDER_TIMEOUT') return { kind: 'failed', status: null, isTimeout: true };
  if (typeof status === 'number' && status >= 500 && error.code === 'PROVIDER_BUSY') {
    return { kind: 'failed', status, isTimeout: false };
  }
  if (MAY_BE_AN_ITEM.includes(error.code)) return { kind: 'failed', status: null, isTimeout: false };
  return { kind: 'denied' };
}

/** Undefined for what no repetition mends. */
export function callBackOff(error: unknown): BackOff | undefined {
  if (!(error instanceof ConnectorError)) return undefined;
  // A single item that does not fit is no reason to end: BULK_MISMATCH never comes here.
  return CALL_BACK_OFF[error.action];
}

export function statusOf({ fields }: ConnectorError): number | null {
  return typeof fields.status === 'number' ? fields.status : null;
}

/** Whether a smaller call might be answered. */
export function mayBeSize(failure: BulkFailure): boolean {
  return failure.kind === 'tooLarge' || (failure.kind === 'refused' && failure.mayBeSize);
}

/** An answer came, and it was for something else: that says nothing of our request. */
export function isMisfit(failure: BulkFailure): boolean {
  return failure.kind === 'refused' && failure.status === null;
}
