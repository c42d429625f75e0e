import { createRecordReader, type ReadableRecord } from '../avro/record-reader.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { ReferenceDataSettings } from '../config/settings.ts';
import { type CheckDecoder, createCheckDecoder } from '../decoding/check-decoder.ts';
import { ConnectorError } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import { createPreTradeChecks } from '../provider/pre-trade-checks.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { systemClock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { nullWhenUnknown } from './null-when-unknown.ts';

// Nothing is written, so no registry is asked for an id.
const NO_SCHEMA_ID = 0;

/**
 * Asks the provider for one pre-trade check; the record is as it would be written to its topic.
 *
 * @returns null when the provider knows no check with this id.
 * @throws ConnectorError of the provider's client, and BODY_MALFORMED for a response that is no check of this id. No
 *   message quotes anything of the check.
 */
export async function lookUpCheck(
  settings: ReferenceDataSettings,
  id: string,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<ReadableRecord | null> {
  const http = await createReferenceDataHttp(settings, { clock: systemClock, random: systemRandom, log });
  const schema = readSchemaText('PreTradeCheck');
  const onMismatch = 'deadLetter';
  const decoder = createCheckDecoder({ schema, schemaId: NO_SCHEMA_ID, onMismatch, clock: systemClock });
  try {
    const asked = await askForCheck({ http, baseUrl: settings.url, decoder }, id, signal);
    return asked && createRecordReader({ schemas: new Map([[NO_SCHEMA_ID, schema]]) }).read(asked.value);
  } finally {
    await http.close();
  }
}

/**
 * One pre-trade check as a record, and the path that was asked; null when the provider knows none with this id.
 *
 * @throws as `lookUpCheck` does.
 */
export async function askForCheck(
  provider: { readonly http: HttpClient; readonly baseUrl: string; readonly decoder: CheckDecoder },
  id: string,
  signal: AbortSignal,
): Promise<{ readonly value: Buffer; readonly endpoint: string } | null> {
  const checks = createPreTradeChecks(provider);
  const asked = checks.single(id, ({ body }) => provider.decoder.decodeSingle(body), signal);
  const check = await nullWhenUnknown(asked);
  if (check === null) return null;
  if (check.kind === 'failure') {
    const text = `The check cannot be mapped at ${check.pointer || '/'}: ${check.reason}.`;
    throw new ConnectorError('BODY_MALFORMED', text);
  }
  if (check.key === id) return { value: check.value, endpoint: `${checks.endpoint}/id/{id}` };
  const text = 'The response of the provider holds another check than the requested one.';
  throw new ConnectorError('BODY_MALFORMED', text);
}
