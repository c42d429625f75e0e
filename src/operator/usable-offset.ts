import type { SourceSettings } from '../config/settings.ts';
import { readFollowerOffset } from '../connector/stream/follower-offset.ts';
import { readInstrumentsOffset } from '../connector/walk/instruments-offset.ts';
import { ConnectorError } from '../errors.ts';
import type { SourceOffset } from '../kafka/offset-store.ts';
import { CHECK_OFFSET, EVENT_OFFSET } from '../provider/page-link.ts';
import { NO_FILTER } from '../provider/pre-trade-checks.ts';
import { filterText } from '../provider/reference-data.ts';

/** For people. */
const FORMS: Readonly<Record<SourceSettings['type'], string>> = {
  instruments: '<digits>-<digits>',
  events: '<digits>-<digits>',
  'pre-trade-checks': 'at most 256 printable characters, and no URL',
};

/**
 * Refuses an offset from which its source could not continue.
 *
 * @throws ConnectorError OFFSET_UNREADABLE, FILTER_CHANGED, as the source would at its start; OFFSET_NOT_FOUND for an
 *   offset in the stream that has another form than the provider's.
 */
export function assertUsable(source: SourceSettings, offset: SourceOffset): void {
  const { since } = readerOf(source)(offset);
  if (since !== null) assertForm(source, since);
}

/** @throws ConnectorError OFFSET_NOT_FOUND for an offset in the stream that has another form than the provider's. */
export function assertForm({ type }: Pick<SourceSettings, 'type'>, since: string): void {
  const form = type === 'pre-trade-checks' ? CHECK_OFFSET : EVENT_OFFSET;
  if (form.test(since)) return;
  throw new ConnectorError(
    'OFFSET_NOT_FOUND',
    `The offset has another form than those of the provider; expected ${FORMS[type]}.`,
  );
}

function readerOf(source: SourceSettings): (offset: SourceOffset) => { readonly since: string | null } {
  const { name } = source;
  if (source.type === 'instruments') return (offset) => readInstrumentsOffset(offset, name, filterText(source));
  const isChecks = source.type === 'pre-trade-checks';
  const expected = { source: name, filter: isChecks ? NO_FILTER : filterText(source), mayLackSince: isChecks };
  return (offset) => readFollowerOffset(offset, expected);
}
