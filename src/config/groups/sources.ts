import { z } from 'zod';
import { crossCheck } from '../cross-check.ts';
import { duration, group, nullable, oneOf, section, setting, text, wholeNumber } from '../setting.ts';
import { topicName } from './topics.ts';

const instrumentsSource = group({
  name: setting(
    text('a name of letters, digits, dots, - and _', /^[A-Za-z0-9._-]{1,100}$/),
    'Names its offset, its log lines and its metrics: keep it.',
  ),
  type: setting(z.literal('instruments'), 'What it reads: instruments.'),
  scope: setting(oneOf(['all', 'my']), 'All instruments, or those that the provider counts as ours.', 'all'),
  legalCountry: setting(
    nullable(text('a country code, like CH', /^[A-Za-z]{2,3}$/)),
    'Only instruments of this legal country.',
    null,
  ),
  limit: setting(
    wholeNumber(1, 10_000),
    'Instruments asked for per page; halved when the provider asks for less.',
    1000,
  ),
  walkInterval: setting(duration('1s', '365d'), 'From the start of one complete reading to the next.', '24h'),
  pollInterval: setting(duration('100ms', '1d'), 'Pause when there is nothing new to read.', '30s'),
  topics: section(
    group({ instruments: setting(nullable(topicName()), 'Its own topic instead of topics.names.instruments.', null) }),
    'Topics of this source.',
  ),
}).transform(({ walkInterval, pollInterval, ...rest }) => ({
  ...rest,
  walkIntervalMs: walkInterval,
  pollIntervalMs: pollInterval,
}));

/** Each type of source adds its group here. */
const source = z.discriminatedUnion('type', [instrumentsSource]).meta({ wanted: 'the settings of a source' });

/** What runs when no source is named. */
export const DEFAULT_SOURCES: readonly z.input<typeof source>[] = [{ name: 'instruments', type: 'instruments' }];

export const sourcesSettings = crossCheck(
  z.array(source).min(1).max(100).meta({ wanted: 'a list of 1 to 100 sources' }),
  (sources, report) => {
    const first = new Map<unknown, number>();
    for (const [position, entry] of Object.entries(sources)) {
      const name: unknown = entry && typeof entry === 'object' && 'name' in entry ? entry.name : undefined;
      if (typeof name !== 'string') continue;
      const other = first.get(name);
      if (other === undefined) first.set(name, Number(position));
      else report([Number(position), 'name'], `is the name of sources[${other}] too; each source needs its own`);
    }
  },
);
