import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Answer, jsonAnswer } from './answer.ts';
import type { SimulatorClock } from './clock.ts';
import type { Fault } from './faults/fault.ts';
import { cutShort, endless, gzipBomb, reset, slowly } from './faults/spoiled-transport.ts';
import { applyEdits, parseLossless, stringifyLossless } from './ledger/lossless-json.ts';

const CODERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Changes the bytes and headers of a response, for faults that leave the transport alone. */
export function spoilAnswer(answer: Answer, faults: readonly Fault[]): Answer {
  let { headers, body } = answer;
  for (const fault of faults) {
    if (fault.kind === 'edit')
      body = Buffer.from(stringifyLossless(applyEdits(parseLossless(body.toString()), fault.edits)));
    if (fault.kind === 'cutJson') body = body.subarray(0, Math.max(0, body.length - (fault.characters ?? 2)));
    if (fault.kind === 'byte') body = withByte(body, fault.text, fault.byte);
    if (fault.kind === 'bom') body = Buffer.concat([BYTE_ORDER_MARK, body]);
    if (fault.kind === 'headers') headers = { ...headers, ...fault.headers };
    if (fault.kind === 'compress') {
      for (const coding of fault.codings) body = CODERS[coding](body);
      headers = { ...headers, 'content-encoding': fault.codings.join(', ') };
    }
  }
  return { status: answer.status, headers, body };
}

function withByte(body: Buffer, text: string, byte: number): Buffer {
  const at = body.indexOf(text);
  if (at < 0) return body;
  return Buffer.concat([body.subarray(0, at), Uint8Array.of(byte), body.subarray(at + Buffer.byteLength(text))]);
}

/** The answer that takes the place of the endpoint's own, if a fault demands one. */
export function replacement(faults: readonly Fault[], nowMs: number): Answer | undefined {
  for (const fault of faults) {
    if (fault.kind === 'status') {
      const body =
        fault.body ?? JSON.stringify({ title: 'Simulated', status: fault.status, detail: 'A simulated fault.' });
      const answer = jsonAnswer(body, fault.status);
      const after =
        fault.retryAfterDateInSeconds === undefined
          ? fault.retryAfterSeconds?.toString()
          : new Date(nowMs + fault.retryAfterDateInSeconds * 1_000).toUTCString();
      const contentType = fault.contentType ?? 'application/problem+json';
      return {
        ...answer,
        headers: { 'content-type': contentType, ...(after !== undefined && { 'retry-after': after }) },
      };
    }
    if (fault.kind === 'redirect') {
      return { status: fault.status ?? 302, headers: { location: fault.location }, body: Buffer.alloc(0) };
    }
    if (fault.kind === 'body') {
      const answer = jsonAnswer(fault.body, fault.status ?? 200);
      return {
        ...answer,
        headers: { ...answer.headers, ...(fault.contentType && { 'content-type': fault.contentType }) },
      };
    }
  }
  return undefined;
}

/** Sends the response, or as much of it and in such a way as the faults demand. */
export async function send(
  response: ServerResponse,
  answer: Answer,
  faults: readonly Fault[],
  clock: SimulatorClock,
): Promise<void> {
  const { status, body } = answer;
  response.sendDate = false;
  const headers = { date: new Date(clock.wallMs()).toUTCString(), ...answer.headers };
  for (const fault of faults) {
    if (fault.kind === 'reset') return reset(response, { status, headers, body }, fault.share ?? 0.5);
    if (fault.kind === 'truncate') return cutShort(response, { status, headers, body }, fault.how, fault.share ?? 0.5);
    if (fault.kind === 'slow') return slowly(response, { status, headers, body }, fault, clock);
    if (fault.kind === 'endless') return endless(response, { status, headers, body }, fault.maxBytes);
    if (fault.kind === 'bomb') return gzipBomb(response, { status, headers, body }, fault.decodedBytes);
  }
  response.writeHead(status, { ...headers, 'content-length': String(body.length) });
  response.end(body);
}
