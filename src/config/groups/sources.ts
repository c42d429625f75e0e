import { z } from 'zod';
import {
  byType,
  crossCheck,
  decimal,
  duration,
  flag,
  group,
  inMilliseconds,
  listOf,
  nullable,
  oneOf,
  section,
  setting,
  text,
  wholeNumber,
} from '../setting.ts';
import { topicName } from './topics.ts';

const name = setting(
  text('a name of 1 to 100 letters, digits, dots, - and _', /^[A-Za-z0-9._-]{1,100}$/),
  'The name of the source in its offset, log lines and metrics. Do not change the name later.',
);

/** The event types of the interface (part 6 of src/provider/README.md). The provider may add types at any time. */
export const KNOWN_EVENT_TYPES = [
  'newissue',
  'datachange',
  'rulebasedparameteradjustment',
  'repayment',
  'barriercross',
  'couponpayment',
] as const;
const eventTypeName = () =>
  text('an event type, like repayment', /^[A-Za-z0-9_-]{1,100}$/).meta({
    wanted: 'an event type, like repayment',
    examples: [...KNOWN_EVENT_TYPES],
  });
const KNOWN = `known: ${KNOWN_EVENT_TYPES.join(', ')}`;
const sourceType = <const Type extends string>(type: Type) =>
  setting(
    z.literal(type),
    'What the source reads: instruments (list and stream), events (only the stream) or pre-trade-checks.',
  );

const enabled = setting(flag(), 'Run this source.', true);

const filter = {
  scope: setting(oneOf(['all', 'my']), 'all: every instrument of the provider; my: only our own instruments.', 'all'),
  legalCountry: setting(
    nullable(text('a country as the provider writes it, like CH', /^[^\p{Cc}]{1,100}$/u)),
    'Only instruments of this legal country.',
    null,
  ),
};
const maxEvents = setting(wholeNumber(1, 10_000), 'Events per response; halved if the provider refuses so many.', 500);

const following = {
  emptyCommitInterval: setting(duration('1s', '1d'), 'The offset of a quiet stream is committed this often.', '60s'),
  gapProof: setting(duration('1s', '1d'), 'How long a refused offset is requested again before it is given up.', '5m'),
  offsetHold: setting(
    duration('12h', '4d'),
    'How long a fresh offset waits before it replaces an offset that does not move. Must be longer than the longest lag of the event stream.',
    '24h',
  ),
  behindLimit: setting(
    duration('1s', '4d'),
    'How long the source waits while the stream ends before our offset, for example after a fail-over. Then the source adopts the lower offset.',
    '1h',
  ),
};
const FOLLOWING = ['pollInterval', 'emptyCommitInterval', 'gapProof', 'offsetHold', 'behindLimit'] as const;
const pollInterval = (usual: string) =>
  setting(duration('100ms', '1d'), 'Pause between two polls of a stream that has no more events.', usual);
const ownTopic = (role: string) =>
  setting(nullable(topicName()), `A separate topic of this source, in place of topics.names.${role}.`, null);
const ownTopics = <Topics extends z.ZodType>(topics: Topics) => section(topics, 'Topics of this source.');

const instrumentsSource = group({
  name,
  type: sourceType('instruments'),
  enabled,
  ...filter,
  limit: setting(
    wholeNumber(1, 10_000),
    'Instruments requested per page; halved if the provider refuses so many.',
    1000,
  ),
  walkInterval: setting(duration('1s', '365d'), 'The time from the start of one walk to the start of the next.', '24h'),
  maxEvents,
  pollInterval: pollInterval('30s'),
  handoffMargin: setting(duration('0s', '1d'), 'How far the list may lag behind the event stream.', '5s'),
  ...following,
  tombstones: setting(flag(), 'Delete instruments that a complete walk no longer finds.', true),
  maxShrink: setting(
    decimal(0, 1),
    'The largest share of instruments that a walk deletes (up to 20 are always allowed). If more are missing, the walk deletes none.',
    0.05,
  ),
  deleteOnEventTypes: setting(listOf(eventTypeName()), `Types of events that delete their instrument; ${KNOWN}.`, []),
  topics: ownTopics(
    group({ instruments: ownTopic('instruments'), 'instrument-events': ownTopic('instrument-events') }),
  ),
}).transform(inMilliseconds(...FOLLOWING, 'walkInterval', 'handoffMargin'));

const eventsSource = group({
  name,
  type: sourceType('events'),
  enabled,
  ...filter,
  eventType: setting(nullable(eventTypeName()), `Only events of this type; null: all; ${KNOWN}.`, null),
  maxEvents,
  pollInterval: pollInterval('30s'),
  ...following,
  topics: ownTopics(group({ 'instrument-events': ownTopic('instrument-events') })),
}).transform(inMilliseconds(...FOLLOWING));

/** This source is not a default source, because a check contains a URL, and a reader of this URL can trade. */
const preTradeChecksSource = group({
  name,
  type: sourceType('pre-trade-checks'),
  enabled,
  pollInterval: pollInterval('45s'),
  ...following,
  topics: ownTopics(group({ 'pre-trade-checks': ownTopic('pre-trade-checks') })),
}).transform(inMilliseconds(...FOLLOWING));

/** For each type of source: the noun of a stream item, and the values of the metric labels `record` and `endpoint`. */
export const SOURCE_WORDS = {
  instruments: {
    item: 'event',
    records: ['instrument', 'event', 'tombstone'],
    polled: ['instruments', 'events'],
  },
  events: { item: 'event', records: ['event'], polled: ['instruments', 'events'] },
  'pre-trade-checks': { item: 'check', records: ['check'], polled: ['pretradechecks'] },
} as const satisfies Readonly<Record<z.output<typeof source>['type'], object>>;

const source = byType([instrumentsSource, eventsSource, preTradeChecksSource]).meta({
  wanted: 'the settings of a source',
});

/** A source must not have these names, which already have a meaning in states, metrics and notifications. */
const TAKEN: ReadonlyMap<string, string> = new Map([
  ['prices', 'the price processor'],
  ['backfill', 'the backfill'],
]);

export const DEFAULT_SOURCES: readonly z.input<typeof source>[] = [{ name: 'instruments', type: 'instruments' }];

export const sourcesSettings = crossCheck(
  z.array(source).min(1).max(100).meta({ wanted: 'a list of 1 to 100 sources' }),
  (sources, report) => {
    const allOff = Array.isArray(sources) && sources.length > 0 && sources.every((one) => one?.enabled === false);
    if (allOff) report([], 'are all off; enable one');
    const first = new Map<unknown, number>();
    for (const [position, entry] of Object.entries(sources)) {
      const name: unknown = entry && typeof entry === 'object' && 'name' in entry ? entry.name : undefined;
      if (typeof name !== 'string') continue;
      const owner = TAKEN.get(name);
      if (owner !== undefined) report([Number(position), 'name'], `is the name of ${owner}; take another`);
      const other = first.get(name);
      if (other === undefined) first.set(name, Number(position));
      else report([Number(position), 'name'], `is the name of sources[${other}] too; choose a different name`);
    }
  },
);
