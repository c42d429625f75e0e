import { ConnectorError } from '../errors.ts';
import { type BodyChunks, collectBytes } from '../http/body-chunks.ts';
import { DEEPEST_NESTING, JsonReader, type JsonValue, NESTED_TOO_DEEP, TOO_LONG } from './exact-json.ts';
import { StringCache } from './string-cache.ts';

/** A body as JsonReader needs it: whole, with a zero byte behind the text. Exported for tests. */
export async function collectJson(body: BodyChunks): Promise<Buffer> {
  return Buffer.concat([await collectBytes(body), Uint8Array.of(0)]);
}

const LONGEST_VALUE_BYTES = 512 * 1024;

/** The one value of a body without a list; its length is limited. @throws ConnectorError BODY_MALFORMED */
export async function readSingleJson(body: BodyChunks): Promise<JsonValue> {
  const reader = new JsonReader(await collectJson(body), new StringCache());
  const value = reader.readBounded(0, LONGEST_VALUE_BYTES);
  if (value === TOO_LONG) throw malformed(`has more than ${LONGEST_VALUE_BYTES} bytes`);
  if (value === NESTED_TOO_DEEP) throw malformed(`has nesting deeper than ${DEEPEST_NESTING}`);
  reader.finish();
  reader.assertUtf8(0);
  return value;
}

/** An error for a body that is JSON but not what is expected; `what` never quotes a value. */
export function malformed(what: string): ConnectorError {
  return new ConnectorError('BODY_MALFORMED', `The body is JSON that ${what}. Nothing was written.`);
}

/**
 * The one value of a body, read in one go: for commands, where nothing else waits. The caller limits the body's size.
 * @throws ConnectorError BODY_MALFORMED
 */
export async function readWholeJson(body: BodyChunks): Promise<JsonValue> {
  const reader = new JsonReader(await collectJson(body), new StringCache());
  const value = reader.readValue(0);
  reader.finish();
  reader.assertUtf8(0);
  return value;
}
