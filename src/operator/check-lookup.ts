import { createRecordReader, type ReadableRecord } from '../avro/record-reader.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { ReferenceDataSettings } from '../config/settings.ts';
import { createCheckDecoder } from '../decoding/check-decoder.ts';
import { ConnectorError } from '../errors.ts';
import { createPreTradeChecks } from '../provider/pre-trade-checks.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { systemClock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';

// Nothing is written, so no registry is asked for an id.
const NO_SCHEMA_ID = 0;
const NO_SUCH_CHECK = 404;

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
    const checks = createPreTradeChecks({ http, baseUrl: settings.url });
    const check = await checks.single(id, ({ body }) => decoder.decodeSingle(body), signal);
    if (check.kind === 'failure') {
      throw new ConnectorError(
        'BODY_MALFORMED',
        `The check cannot be mapped at ${check.pointer || '/'}: ${check.reason}.`,
      );
    }
    if (check.key !== id)
      throw new ConnectorError(
        'BODY_MALFORMED',
        'The response of the provider holds another check than the requested one.',
      );
    return createRecordReader({ schemas: new Map([[NO_SCHEMA_ID, schema]]) }).read(check.value);
  } catch (error) {
    // The token endpoint can answer with 404 too, which is another matter.
    const isRefusal = error instanceof ConnectorError && error.code === 'PROVIDER_REFUSED';
    if (isRefusal && error.fields.status === NO_SUCH_CHECK) return null;
    throw error;
  } finally {
    await http.close();
  }
}
