import type { AskedPrices } from '../../../src/config/price-kinds/all.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { isResponseType } from '../../../src/provider/market-data.ts';
import { parseSchema, type RecordNode } from '../../../src/records/avro/schema.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { createCheckDecoder } from '../../../src/records/decoding/check-decoder.ts';
import type { DecodedList, DecodingSizes } from '../../../src/records/decoding/decoded-list.ts';
import { createEventDecoder } from '../../../src/records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { createPriceDecoder, type PriceBodyDecoder } from '../../../src/records/decoding/price-decoder.ts';
import { type ItemHead, priceSchemaName } from '../../../src/records/decoding/priced.ts';
import { systemClock } from '../../../src/support/clock.ts';
import * as plainly from '../../oracle/plain-decoders.ts';
import { questionsFor, termsAt } from './bulk-answers.ts';

interface Decoder {
  decode(body: AsyncIterable<Uint8Array>): Promise<DecodedList<{ readonly kind: string }>>;
}

/** The transcoder, and the plain way that is its oracle, for one kind of response. */
export interface Pair {
  readonly listKey: string;
  readonly row: RecordNode;
  /** Of bulk responses. */
  readonly prices?: AskedPrices['kind'];
  readonly plain: Decoder;
  readonly transcoder: Decoder;
  readonly sizes: DecodingSizes;
}

// From sizes at which every value is cut, to the usual ones.
const ALL_SIZES: readonly DecodingSizes[] = [
  { piece: 1, buffer: 1, slab: 1 },
  { piece: 7, buffer: 64, slab: 300 },
  { piece: 300, buffer: 300, slab: 4_096 },
  { piece: 32_768, buffer: 131_072, slab: 262_144 },
];
// So that some values are too long.
const MAX_VALUE_BYTES = 3_000;
const MAX_PRICE_BYTES = 500;
const ASKED: readonly AskedPrices[] = [
  { kind: 'overview' },
  { kind: 'daily', fields: 'Close' },
  { kind: 'intraday', fields: 'BidAsk', interval: 'Hour_1' },
];
/** The isins that the bulk responses are about. */
export const ISINS = ['CH0', 'CH1', 'CH2', 'CH3'];
const QUESTIONS = questionsFor(ISINS, termsAt);

export function decoderPairs(): readonly Pair[] {
  const [instrumentSchema, eventSchema, checkSchema] = [
    readSchemaText('Instrument'),
    readSchemaText('InstrumentEvent'),
    readSchemaText('PreTradeCheck'),
  ];
  return (['deadLetter', 'keepInExtras'] as const).flatMap((onMismatch) =>
    ALL_SIZES.flatMap((sizes): readonly Pair[] => {
      const common = { onMismatch, maxValueBytes: MAX_VALUE_BYTES, clock: systemClock, sizes };
      const page = { ...common, schema: instrumentSchema, schemaId: 7, listKey: 'instruments' };
      const events = { ...common, eventSchema, eventSchemaId: 8, instrumentSchema, instrumentSchemaId: 7 };
      const checks = { ...common, schema: checkSchema, schemaId: 9 };
      const pair = (listKey: string, schema: string, plain: Decoder, transcoder: Decoder): Pair => {
        return { listKey, row: parseSchema(schema), plain, transcoder, sizes };
      };
      return [
        pair('instruments', instrumentSchema, plainly.createPageDecoder(page), createPageDecoder(page)),
        pair('events', eventSchema, plainly.createEventDecoder(events), createEventDecoder(events)),
        pair('preTradeChecks', checkSchema, plainly.createCheckDecoder(checks), createCheckDecoder(checks)),
        ...ASKED.map((asked) => {
          const assumedZone = onMismatch === 'keepInExtras' ? 'Europe/Zurich' : null;
          const options = { ...common, asked, schemaId: 30, assumedZone, maxValueBytes: MAX_PRICE_BYTES };
          const answering = ({ decode }: PriceBodyDecoder): Decoder => ({
            decode: (body) => decode(body, answerTo(asked.kind)),
          });
          const plain = answering(plainly.createPriceDecoder(options));
          const schema = readSchemaText(priceSchemaName(asked.kind));
          return { ...pair('items', schema, plain, answering(createPriceDecoder(options))), prices: asked.kind };
        }),
      ];
    }),
  );
}

/** A bulk response whose items must be those of the questions. */
function answerTo(kind: AskedPrices['kind']) {
  return {
    requestedAtMs: 1_000_000.4,
    receivedAtMs: 1_000_123,
    isinAt: (at: number) => ISINS[at],
    instrumentOf(at: number, head: ItemHead | null) {
      const question = QUESTIONS[at];
      const isOther = head?.isin !== question?.isin || (head?.isPriced && !isResponseType(head.type, kind));
      if (question === undefined || isOther) throw new ConnectorError('BULK_MISMATCH', 'another item');
      return question;
    },
  };
}
