import type { LogEntry, logCreator } from 'kafkajs';
import type { Log } from '../../support/log.ts';

/** The numbers of kafkajs' log levels (its enum would load kafkajs itself). */
const KAFKAJS_ERROR = 1;
const KAFKAJS_WARN = 2;

/**
 * ERROR lines of kafkajs during normal work: the coordinator still ends an earlier transaction, or a topic's
 * metadata or leadership has not reached this broker yet. All are tried again.
 */
const NORMAL_ERRORS = [
  'This server is not the leader for that topic-partition',
  'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing',
  'This server does not host this topic-partition',
];

/** Each of a dozen attempts to connect logs its lines here; the caller reports the final outcome once. */
const CONNECTING = ['Connection', 'BrokerPool'];

/**
 * kafkajs' log lines as ours. Its errors are warnings here, since kafkajs tries again and the last failure reaches the
 * caller as an error, which is logged there; its information lines are debug lines. Stacks are left out.
 */
export function bridgeLog(log: Log): logCreator {
  return () =>
    ({ namespace, level, log: entry }: LogEntry) => {
      const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = entry;
      const details = { ...fields, kafkajs: namespace, detail: message };
      if (
        level > KAFKAJS_WARN ||
        CONNECTING.includes(namespace) ||
        isNormal(level, `${message} ${String(fields.error ?? '')}`)
      ) {
        log.debug(details, 'kafkajs');
      } else {
        log.warn(details, 'kafkajs');
      }
    };
}

function isNormal(level: number, text: string): boolean {
  return level === KAFKAJS_ERROR && NORMAL_ERRORS.some((normal) => text.includes(normal));
}
