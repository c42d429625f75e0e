import type { SourceSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import { kindOf } from '../sources/kinds/all.ts';

/**
 * Refuses an offset from which its source could not continue.
 *
 * @throws ConnectorError OFFSET_UNREADABLE, FILTER_CHANGED, as the source would at its start; OFFSET_NOT_FOUND for an
 *   offset in the stream that has another form than the provider's.
 */
export function assertUsable(source: SourceSettings, offset: SourceOffset): void {
  const { since } = kindOf(source).readOffset(source, offset);
  if (since !== null) assertForm(source, since);
}

/** @throws ConnectorError OFFSET_NOT_FOUND for an offset in the stream that has another form than the provider's. */
export function assertForm(source: Pick<SourceSettings, 'type'>, since: string): void {
  const { form, words } = kindOf(source).offsets;
  if (form.test(since)) return;
  throw new ConnectorError(
    'OFFSET_NOT_FOUND',
    `The offset has another form than those of the provider; expected ${words}.`,
  );
}
