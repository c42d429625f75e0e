import type { DecodedCheck } from '../../decoding/check-decoder.ts';
import type { DecodedFailure } from '../../decoding/decoded-list.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { keyedRecord, type TargetTopic } from '../../kafka/target-topic.ts';
import type { SourceTask } from '../source-task.ts';
import { followerNotification } from './follower-notification.ts';
import { createFollowerTask, type FollowerTaskOptions } from './follower-task.ts';
import { streamReport } from './response-report.ts';

const WORDS = {
  suspected:
    'The pre-trade checks were not asked for for nearly a week. Whatever the provider still serves is taken; what it ' +
    'has dropped is lost for good.',
  proven:
    'Our offset is given up, and every pre-trade check that the provider still serves is read again: some may be ' +
    'written once more, under the same key.',
  expired: 'pre-trade checks of that time',
  lost: 'pre-trade checks after our offset that the provider no longer serves',
  restart:
    'Every pre-trade check that the provider still serves is read: some may be written once more, under the same key.',
};

export interface PreTradeChecksTaskOptions extends FollowerTaskOptions<DecodedCheck> {
  readonly preTradeChecks: TargetTopic;
  readonly deadLetters: TargetTopic;
}

/**
 * The source of pre-trade checks: every check once, or a dead letter. A check holds a URL that lets its holder trade,
 * so that of a check nothing but its id leaves its topic.
 */
export function createPreTradeChecksTask(options: PreTradeChecksTaskOptions): SourceTask {
  const { source, preTradeChecks, deadLetters, events } = options;

  function deadLetter(input: DecodedFailure, provenance: Readonly<Record<string, string>>): OutgoingRecord {
    const targetTopic = preTradeChecks.name;
    // Whatever a decoder hands over, the input's bytes stay out, and so do their length and hash.
    const withoutBytes = { ...input, raw: Buffer.alloc(0) };
    const record = deadLetterRecord({ topic: deadLetters, source, targetTopic, input: withoutBytes, provenance });
    const { 'spc-length': _, 'spc-sha256': __, ...headers } = record.headers;
    return { ...record, value: null, headers };
  }

  return createFollowerTask(options, {
    kind: 'pretradechecks',
    records: (rows, headers) =>
      rows.map((check) =>
        check.kind === 'record'
          ? keyedRecord(preTradeChecks, check.key, check.value, headers)
          : deadLetter(check, headers),
      ),
    notification: (notification) => followerNotification(source, notification, WORDS),
    committed(answer, commitMs) {
      const checks = answer.decoded.rows.filter(({ kind }) => kind === 'record').length;
      events.checksCommitted({ checks, ...streamReport(source, answer, commitMs) });
    },
  });
}
