import type { SourceSettingsOf } from '../../config/settings.ts';
import { ConnectorError } from '../../errors.ts';
import { deadLetterRecord } from '../../kafka/dead-letter.ts';
import { keyedRecord } from '../../kafka/record.ts';
import { nullWhenUnknown } from '../../provider/http/response-error.ts';
import { CHECK_OFFSET } from '../../provider/page-link.ts';
import {
  createPreTradeChecks,
  NO_FILTER,
  newestCheckOffset,
  nextCheckOffset,
  type PreTradeChecks,
} from '../../provider/pre-trade-checks.ts';
import { type CheckDecoder, createCheckDecoder, type DecodedCheck } from '../../records/decoding/check-decoder.ts';
import { type FollowerOffset, readFollowerOffset } from '../stream/committed-stream.ts';
import { followStream } from '../tasks/followed-stream.ts';
import { followerNotification } from '../tasks/notification-texts.ts';
import { streamReport } from '../tasks/response-report.ts';
import { nextOfBytes, openFollowed, type SourceKind, withSchemas } from './kind.ts';

const WORDS = {
  suspected:
    'Our offset is more than six and a half days old, by our clock or that of the provider. Checks are kept for seven ' +
    'days. The source reads every check that the provider still has; dropped checks are permanently lost.',
  proven:
    'The source gives up its offset and reads every pre-trade check that the provider still serves. Some checks may be ' +
    'written again, under the same key.',
  expired: 'pre-trade checks of that time',
  lost: 'pre-trade checks that came after our offset and that the provider no longer serves',
  restart:
    'The source reads every pre-trade check that the provider still has. Some checks may come again with the same key.',
};

/** Anyone can trade with the URL in a pre-trade check. So logs, errors and dead letters show at most the check's id. */
export const PRE_TRADE_CHECKS: SourceKind<SourceSettingsOf<'pre-trade-checks'>, FollowerOffset> = {
  connectorClass: 'PreTradeChecksSource',
  walks: false,
  hidesInput: true,
  afterReset: WORDS.restart,
  offsets: { words: 'at most 256 printable characters, and no URL', form: CHECK_OFFSET, areOrdered: false },
  streamTopic: ({ topics }) => topics['pre-trade-checks'],
  readOffset: ({ name: source }, committed) =>
    readFollowerOffset(committed, { source, filter: NO_FILTER, mayLackSince: true }),
  moved: (_, offset) => offset,
  open(source, context) {
    const { settings, topics, http, clock, events } = context;
    const target = topics.named('pre-trade-checks', source.topics['pre-trade-checks']);
    const deadLetters = { topic: topics.shared['dead-letters'], source: source.name, targetTopic: target.name };
    const schemas = withSchemas(source, context, { PreTradeCheck: target }, ({ PreTradeCheck: check }, mapping) =>
      createCheckDecoder({ ...check, ...mapping }),
    );
    const checks = createPreTradeChecks({ http, baseUrl: settings.referenceData.url });
    const { endpoint, list } = checks;
    const decoder = async (signal: AbortSignal) => (await schemas(signal)).decoders;
    const next = (links: ReadonlyMap<string, unknown>) => nextCheckOffset(links, checks.baseUrl);
    return openFollowed<DecodedCheck>(source, context, {
      schemas,
      filter: NO_FILTER,
      begins: 'withoutOffset',
      stream: followStream({
        endpoint,
        list,
        decoder,
        next,
        newest: newestCheckOffset,
        maxDeadLetters: settings.mapping.maxDeadLetters,
        clock,
      }),
      nextOf: nextOfBytes(list, next),
      endpoint,
      kind: 'pretradechecks',
      records: (rows, provenance) =>
        rows.map((row) => {
          if (row.kind === 'record') return keyedRecord(target, row.key, row.value, provenance);
          // The dead letter contains no bytes of the check, and no length or hash of these bytes.
          const input = { ...row, raw: Buffer.alloc(0) };
          const record = deadLetterRecord({ ...deadLetters, input, provenance });
          const { 'spc-length': _, 'spc-sha256': __, ...headers } = record.headers;
          return { ...record, value: null, headers };
        }),
      async reread({ key }, headers, signal) {
        if (key === null) return 'its id could not be read, and a check can be requested only by its id';
        try {
          const value = await requestCheck(checks, await decoder(signal), key, signal);
          if (value === null) return 'the provider no longer has a check with this id';
          const received = new Date(clock.wallMs()).toISOString();
          const own = { ...headers, 'spc-endpoint': `${endpoint}/id/{id}`, 'spc-received': received };
          return keyedRecord(target, key, value, own);
        } catch (error) {
          if (!(error instanceof ConnectorError) || error.code !== 'BODY_MALFORMED') throw error;
          return error.message;
        }
      },
      notification: (notification) => followerNotification(source.name, notification, WORDS),
      committed(answer, commitMs) {
        const { dead, ...report } = streamReport(source.name, 'check', answer, commitMs);
        events.streamCommitted({ ...report, dead: dead?.map((row) => ({ ...row, key: null })) ?? [] });
      },
    });
  },
};

/** Returns null for an unknown id. @throws ConnectorError BODY_MALFORMED; the message has no content of the check. */
export async function requestCheck(
  checks: PreTradeChecks,
  decoder: CheckDecoder,
  id: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const check = await nullWhenUnknown(checks.single(id, ({ body }) => decoder.decodeSingle(body), signal));
  if (check === null) return null;
  if (check.kind === 'failure') {
    const text = `The check cannot be mapped at ${check.pointer || '/'}: ${check.reason}.`;
    throw new ConnectorError('BODY_MALFORMED', text);
  }
  if (check.key === id) return check.value;
  throw new ConnectorError(
    'BODY_MALFORMED',
    'The response of the provider contains another check, not the requested check.',
  );
}
