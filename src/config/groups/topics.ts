import type { z } from 'zod';
import { crossCheck, flag, group, section, setting, text, wholeNumber } from '../setting.ts';

export const topicName = () => text('a topic name of 1 to 98 letters, digits, dots, - and _', /^[A-Za-z0-9._-]{1,98}$/);

const names = group({
  instruments: setting(topicName(), 'Instruments by id. A source can have a separate topic.', 'instruments'),
  'instrument-events': setting(
    topicName(),
    'Events about instruments. A source can have a separate topic.',
    'instrument-events',
  ),
  'pre-trade-checks': setting(
    topicName(),
    'Pre-trade checks by id. A source can have a separate topic. A reader of this topic can trade.',
    'pre-trade-checks',
  ),
  prices: setting(topicName(), 'The latest price of each instrument, by its id.', 'prices'),
  'daily-prices': setting(topicName(), 'Prices by instrument and day, when enabled.', 'daily-prices'),
  'intraday-prices': setting(topicName(), 'Prices by instrument and window, when enabled.', 'intraday-prices'),
  notifications: setting(topicName(), 'Notices for operators and consumers.', 'notifications'),
  'dead-letters': setting(topicName(), 'Inputs that could not become records.', 'dead-letters'),
  offsets: setting(topicName(), 'The committed offset of each source.', 'offsets'),
  states: setting(topicName(), 'The states that operators requested for each source.', 'states'),
});

/** The role of a topic. The default name of the topic is the prefix and the role. */
export type TopicRole = keyof z.output<typeof names>;

/** Roles of topics that all sources share. For a role that is not in this list, each source can have a separate topic. */
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
  create: setting(flag(), 'Create missing topics. Existing topics are verified and never altered.', true),
  partitions: setting(wholeNumber(1, 1_000), 'Partitions of the topics of instruments, events, checks and prices.', 6),
  replicationFactor: setting(wholeNumber(1, 9), 'Copies of each partition; 3 in production.', 1),
  names: section(
    crossCheck(names, (value, report) => {
      // A reader cannot distinguish two kinds of records on one topic.
      for (const [position, role] of SHARED_TOPICS.entries()) {
        const other = SHARED_TOPICS.slice(0, position).find((earlier) => value[earlier] === value[role]);
        if (value[role] === undefined || other === undefined) continue;
        report([role], `is the same topic as topics.names.${other}; each needs a different topic`);
      }
    }),
    'Topic names after the prefix.',
  ),
});
