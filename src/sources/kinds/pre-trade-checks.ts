import type { SourceSettingsOf } from '../../config/settings.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord } from '../../kafka/record.ts';
import type { HttpResponse } from '../../provider/http/http-response.ts';
import { CHECK_OFFSET } from '../../provider/page-link.ts';
import {
  createPreTradeChecks,
  NO_FILTER,
  newestCheckOffset,
  nextCheckOffset,
  type PreTradeChecks,
} from '../../provider/pre-trade-checks.ts';
import { type CheckDecoder, createCheckDecoder, type DecodedCheck } from '../../records/decoding/check-decoder.ts';
import type { Clock } from '../../support/clock.ts';
import { readFollowerOffset } from '../stream/committed-stream.ts';
import { responseTime } from '../stream/response-time.ts';
import { DeadLetterShare } from '../tasks/dead-letter-share.ts';
import { type FollowedResponse, type FollowedStream, refusalOf } from '../tasks/followed-stream.ts';
import { linksOf } from '../tasks/instruments-provider.ts';
import { followerNotification } from '../tasks/notification-texts.ts';
import { streamReport } from '../tasks/response-report.ts';
import { createFollowedSource, type SourceKind, withSchemas } from './kind.ts';

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

/** A check holds a URL that lets its holder trade: only its id leaves its topic. */
export const PRE_TRADE_CHECKS: SourceKind<SourceSettingsOf<'pre-trade-checks'>> = {
  connectorClass: 'PreTradeChecksSource',
  items: 'pre-trade checks',
  walks: false,
  offsets: { words: 'at most 256 printable characters, and no URL', form: CHECK_OFFSET, areOrdered: false },
  streamTopic: ({ topics }) => topics['pre-trade-checks'],
  readOffset: ({ name: source }, committed) =>
    readFollowerOffset(committed, { source, filter: NO_FILTER, mayLackSince: true }),
  moved: (_, offset) => offset,
  create(source, context) {
    const { settings, topics, http, clock, events } = context;
    const target = topics.named('pre-trade-checks', source.topics['pre-trade-checks']);
    const deadLetters = { topic: topics.shared['dead-letters'], source: source.name, targetTopic: target.name };
    const schemas = withSchemas(source, context, { PreTradeCheck: target }, ({ PreTradeCheck: check }, mapping) =>
      createCheckDecoder({ ...check, ...mapping }),
    );
    const preTradeChecks = createPreTradeChecks({ http, baseUrl: settings.referenceData.url });
    return createFollowedSource<DecodedCheck>(source, context, {
      schemas,
      filter: NO_FILTER,
      begins: 'withoutOffset',
      stream: followPreTradeChecks({
        preTradeChecks,
        decoder: async (signal) => (await schemas(signal)).decoders,
        maxDeadLetters: settings.mapping.maxDeadLetters,
        clock,
      }),
      endpoint: preTradeChecks.endpoint,
      kind: 'pretradechecks',
      records: (rows, provenance) =>
        rows.map((row) => {
          if (row.kind === 'record') return keyedRecord(target, row.key, row.value, provenance);
          // The bytes, their length and their hash stay out.
          const input = { ...row, raw: Buffer.alloc(0) };
          const record = deadLetterRecord({ ...deadLetters, input, provenance });
          const { 'spc-length': _, 'spc-sha256': __, ...headers } = record.headers;
          return { ...record, value: null, headers };
        }),
      notification: (notification) => followerNotification(source.name, notification, WORDS),
      committed(answer, commitMs) {
        const checks = answer.decoded.rows.filter(({ kind }) => kind === 'record').length;
        const { dead, ...report } = streamReport(source.name, answer, commitMs);
        events.checksCommitted({ checks, ...report, dead: dead?.map((row) => ({ ...row, key: null })) ?? [] });
      },
    });
  },
};

export function followPreTradeChecks(options: {
  readonly preTradeChecks: PreTradeChecks;
  readonly decoder: (signal: AbortSignal) => Promise<CheckDecoder>;
  readonly maxDeadLetters: number;
  readonly clock: Clock;
}): FollowedStream<DecodedCheck> {
  const { preTradeChecks, clock } = options;
  const share = new DeadLetterShare(options.maxDeadLetters);
  const { endpoint, baseUrl } = preTradeChecks;

  async function ask(since: string | null, signal: AbortSignal): Promise<FollowedResponse<DecodedCheck>> {
    const decoder = await options.decoder(signal);
    const startedMs = clock.monotonicMs();
    const consume = async ({ body, date }: HttpResponse): Promise<FollowedResponse<DecodedCheck>> => {
      const decoded = await decoder.decode(body);
      return {
        decoded,
        next: nextCheckOffset(linksOf(decoded.envelope, endpoint), baseUrl),
        nextId: newestCheckOffset(decoded.envelope),
        time: responseTime(date, clock.wallMs()),
        fetchMs: clock.monotonicMs() - startedMs,
      };
    };
    return preTradeChecks.list(since, consume, signal);
  }

  return {
    async start(signal) {
      // These checks are not used, so their mapping does not matter.
      const { next, nextId, time, decoded } = await ask(null, signal);
      // Behind an answer that holds nothing lies nothing.
      return { since: next, newest: nextId ?? (decoded.rows.length === 0 ? next : null), time };
    },
    async after(since, signal) {
      try {
        const answer = await ask(since, signal);
        const whence = since === null ? endpoint : `${endpoint}?since=${since}`;
        share.check(answer.decoded.rows, whence);
        return { kind: 'stream', answer };
      } catch (error) {
        const refusal = since === null ? null : refusalOf(error, clock);
        if (refusal === null) throw error;
        return refusal;
      }
    },
  };
}
