import { JsonReader, type JsonValue } from './exact-json.ts';
import { StringCache } from './string-cache.ts';

/** A body as JsonReader wants it: whole, with a zero behind the text. */
export async function collectJson(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat([...chunks, Uint8Array.of(0)]);
}

/**
 * The one value of a body, read in one go: for commands, where nothing else waits. Whoever gives the body limits its size.
 * @throws ConnectorError BODY_MALFORMED
 */
export async function readWholeJson(body: AsyncIterable<Uint8Array>): Promise<JsonValue> {
  const reader = new JsonReader(await collectJson(body), new StringCache());
  const value = reader.readValue(0);
  reader.finish();
  reader.assertUtf8(0);
  return value;
}
