import { ConnectorError } from '../errors.ts';
import { type BodyChunks, collectBytes } from '../http/body-chunks.ts';
import { DEEPEST_NESTING, JsonReader, type JsonValue, TOO_DEEP, TOO_LONG } from './exact-json.ts';
import { StringCache } from './string-cache.ts';

/** A body as JsonReader wants it: whole, with a zero behind the text. */
export async function collectJson(body: BodyChunks): Promise<Buffer> {
  return Buffer.concat([await collectBytes(body), Uint8Array.of(0)]);
}

const LONGEST_VALUE_BYTES = 512 * 1024;

/** The one value of a body that is no list; of a limited length. @throws ConnectorError BODY_MALFORMED */
export async function readSingleJson(body: BodyChunks): Promise<JsonValue> {
  const reader = new JsonReader(await collectJson(body), new StringCache());
  const value = reader.readBounded(0, LONGEST_VALUE_BYTES);
  if (value === TOO_LONG) throw malformed(`has more than ${LONGEST_VALUE_BYTES} bytes`);
  if (value === TOO_DEEP) throw malformed(`has nesting deeper than ${DEEPEST_NESTING}`);
  reader.finish();
  reader.assertUtf8(0);
  return value;
}

/** An error for a body that is JSON but not what is expected; `what` never quotes a value. */
export function malformed(what: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `The body is JSON that ${what}. Nothing was written.`);
}

/**
 * The one value of a body, read in one go: for commands, where nothing else waits. Whoever gives the body limits its size.
 * @throws ConnectorError BODY_MALFORMED
 */
export async function readWholeJson(body: BodyChunks): Promise<JsonValue> {
  const reader = new JsonReader(await collectJson(body), new StringCache());
  const value = reader.readValue(0);
  reader.finish();
  reader.assertUtf8(0);
  return value;
}
