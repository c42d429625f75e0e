import type { AskedPrices } from '../../../src/config/price-kinds/all.ts';
import { readBulkResponse } from '../../../src/prices/bulk-response.ts';
import { parseSchema, type RecordNode } from '../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import type { DecodingSizes } from '../../../src/records/decoding/decoded-list.ts';
import { createPriceDecoder } from '../../../src/records/decoding/price-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { readBulkResponse as readBulkResponsePlainly } from '../../oracle/plain-bulk-answer.ts';
import { createPriceDecoders } from '../../oracle/plain-price-decoder.ts';
import { questionsFor, termsAt } from './bulk-answers.ts';
import type { OddJson } from './odd-json.ts';

type Read = (body: AsyncIterable<Uint8Array>, isins: readonly string[]) => Promise<object>;

/** Both ways to read a bulk response of one kind of prices. */
export interface BulkPair {
  readonly kind: AskedPrices['kind'];
  readonly row: RecordNode;
  readonly plain: Read;
  readonly transcoder: Read;
}

const ASKED: readonly AskedPrices[] = [
  { kind: 'overview' },
  { kind: 'daily', fields: 'Close' },
  { kind: 'intraday', fields: 'BidAsk', interval: 'Hour_1' },
];
const SCHEMAS = { overview: 'PriceSnapshot', daily: 'DailyPrice', intraday: 'IntradayPrice' } as const;
const TYPES = {
  overview: 'ProductPriceOverviewResponse',
  daily: 'ProductDailyPriceResponse',
  intraday: 'ProductIntradayPriceResponse',
} as const;
const MAX_VALUE_BYTES = 500;
const [REQUESTED_AT_MS, RECEIVED_AT_MS] = [1_000_000.4, 1_000_123];

export function bulkPairs(sizes: DecodingSizes): readonly BulkPair[] {
  return (['deadLetter', 'keepInExtras'] as const).flatMap((onMismatch) =>
    ASKED.map((asked, index): BulkPair => {
      const assumedZone = onMismatch === 'keepInExtras' ? 'Europe/Zurich' : null;
      const options = { asked, schemaId: 30, onMismatch, assumedZone, maxValueBytes: MAX_VALUE_BYTES };
      const plain = createPriceDecoders(options).at(REQUESTED_AT_MS, RECEIVED_AT_MS);
      const decoder = createPriceDecoder({ ...options, clock: systemClock, sizes });
      const { kind } = asked;
      const times = { requestedAtMs: REQUESTED_AT_MS, receivedAtMs: RECEIVED_AT_MS };
      return {
        kind,
        row: parseSchema(readSchemaText(SCHEMAS[ASKED[index]?.kind ?? 'overview'])),
        plain: (body, isins) =>
          readBulkResponsePlainly(body, {
            questions: questionsFor(isins, termsAt),
            kind,
            decoder: plain,
          }),
        transcoder: (body, isins) =>
          readBulkResponse(body, {
            questions: questionsFor(isins, termsAt),
            range: () => null,
            kind,
            decoder,
            ...times,
          }),
      };
    }),
  );
}

/** A bulk response about these isins, odd now and then. */
export function oddBulkBody({ kind, row }: BulkPair, isins: readonly string[], odd: OddJson): string {
  const unusual = (usual: string, others: readonly string[]) => (odd.below(25) === 0 ? odd.pick(others) : usual);
  const items = isins.map((isin) => {
    const type = unusual(`"${TYPES[kind]}"`, [`"${TYPES[kind].toLowerCase()}"`, '"Other"', 'null', '5']);
    const windows = () => `[${Array.from({ length: odd.below(4) }, () => odd.record(row)).join()}]`;
    const record = odd.record(row);
    const key = unusual('prices', ['Prices', 'price']);
    const series = `{"${key}":${unusual(windows(), ['null', '{}', '5'])}${unusual('', [',"more":1', ',"Prices":[]'])}}`;
    const content = kind === 'overview' ? record : series;
    const response = content.startsWith('{')
      ? `{"$type":${type}${content.length > 2 && content.trim() !== '{}' ? ',' : ''}${content.slice(1)}`
      : content;
    const identifier = unusual(`{"isin":${odd.text(isin)}}`, ['{"isin":"X"}', 'null', '{"isin":5}', '{"Isin":"A"}']);
    const error = unusual('null', [
      '{"status":404,"title":"gone \\ud800"}',
      '{"status":"x","title":5}',
      '"text"',
      '[]',
    ]);
    const more = unusual('', [',"unknown":{"a":1,"a":2}', ',"Response":null', ',"response":null']);
    return unusual(
      `{"responseIdentifier":${identifier},"response":${unusual(response, ['null'])},"errorResponse":${error}${more}}`,
      ['null', '5', '{}'],
    );
  });
  return `{"errors":${odd.pick(['true', 'false'])},"items":[${items.join()}]${unusual('', [',"x":1', ',"errors":true'])}}`;
}
