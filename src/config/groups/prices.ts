import { z } from 'zod';
import { PRICE_KINDS } from '../price-kinds/all.ts';
import { duration, flag, group, section, setting, text, wholeNumber } from '../setting.ts';

export const pricesSettings = group({
  enabled: setting(flag(), 'Whether prices are followed, once marketData.url is set.', true),
  from: setting(
    z.array(text('the name of a source')).max(100),
    'Sources whose instruments are priced, by name; none: the only instruments source. Several: each with its own legalCountry.',
    [],
  ),
  kinds: section(
    group({
      overview: section(PRICE_KINDS.overview.settings, 'The latest price of each instrument.'),
      daily: section(PRICE_KINDS.daily.settings, 'Prices by day.'),
      intraday: section(PRICE_KINDS.intraday.settings, 'Prices by windows within a day.'),
    }),
    'What is requested.',
  ),
  maxItems: setting(wholeNumber(1, 10_000), 'Instruments in one bulk request; fewer once the provider refuses.', 500),
  linger: setting(
    duration('0s', '1m'),
    'How long a new or changed instrument waits for others in its request.',
    '250ms',
  ),
  concurrency: setting(wholeNumber(1, 8), 'Bulk requests in flight at a time, for each kind.', 4),
  maxBackoff: setting(
    duration('1s', '7d'),
    'The longest pause before an instrument that fails is requested again.',
    '1h',
  ),
  repaidAfter: setting(
    duration('0s', '366d'),
    'How long after its repaymentDate an instrument is requested once a day only.',
    '7d',
  ),
}).transform(({ linger, maxBackoff, repaidAfter, ...rest }) => ({
  ...rest,
  lingerMs: linger,
  maxBackoffMs: maxBackoff,
  repaidAfterMs: repaidAfter,
}));
