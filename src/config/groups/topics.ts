import type { z } from 'zod';
import { crossCheck, flag, group, section, setting, text, wholeNumber } from '../setting.ts';

export const topicName = () => text('a topic name of letters, digits, dots, - and _', /^[A-Za-z0-9._-]{1,98}$/);

const names = group({
  instruments: setting(topicName(), 'Instruments by id; a source can name its own.', 'instruments'),
  'instrument-events': setting(
    topicName(),
    'Events about instruments; a source can name its own.',
    'instrument-events',
  ),
  'pre-trade-checks': setting(
    topicName(),
    'Pre-trade checks by id; a source can name its own. A reader of it can trade.',
    'pre-trade-checks',
  ),
  prices: setting(topicName(), 'The latest price of each instrument, by its id.', 'prices'),
  'daily-prices': setting(topicName(), 'Prices by instrument and day, when enabled.', 'daily-prices'),
  'intraday-prices': setting(topicName(), 'Prices by instrument and window, when enabled.', 'intraday-prices'),
  notifications: setting(topicName(), 'What an operator or a consumer must know.', 'notifications'),
  'dead-letters': setting(topicName(), 'Inputs that could not become records.', 'dead-letters'),
  offsets: setting(topicName(), 'How far each source has come.', 'offsets'),
  states: setting(topicName(), 'What operators want of each source.', 'states'),
});

/** The role of a topic, and its default name after the prefix. */
export type TopicRole = keyof z.output<typeof names>;

/** Topics that all sources share. Any other topic belongs to one source, which can set another name. */
export const SHARED_TOPICS = [
  'prices',
  'daily-prices',
  'intraday-prices',
  'notifications',
  'dead-letters',
  'offsets',
  'states',
] as const satisfies readonly TopicRole[];

export const topicsSettings = group({
  create: setting(flag(), 'Create missing topics; existing ones are verified and never altered.', true),
  partitions: setting(wholeNumber(1, 1_000), 'Partitions of the instruments topics.', 6),
  replicationFactor: setting(wholeNumber(1, 9), 'Copies of each partition; 3 in production.', 1),
  names: section(
    crossCheck(names, (value, report) => {
      // A reader cannot distinguish two kinds of records on one topic.
      for (const [position, role] of SHARED_TOPICS.entries()) {
        const other = SHARED_TOPICS.slice(0, position).find((earlier) => value[earlier] === value[role]);
        if (value[role] === undefined || other === undefined) continue;
        report([role], `is the same topic as topics.names.${other}; each needs its own`);
      }
    }),
    'Names behind the prefix.',
  ),
});
