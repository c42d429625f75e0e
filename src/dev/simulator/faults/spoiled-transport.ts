import { once } from 'node:events';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Answer } from '../answer.ts';
import type { SimulatorClock } from '../clock.ts';

const SLOW_HEAD_BYTES = 65_536;
const UNTIL_READ_MS = 100;
const SLOW_STEPS_PER_SECOND = 20;

export async function reset(
  response: ServerResponse,
  answer: Answer,
  share: number,
  clock: SimulatorClock,
): Promise<void> {
  const { socket } = response;
  if (share > 0) {
    response.writeHead(answer.status, { ...answer.headers, 'content-length': String(answer.body.length) });
    await written(response, answer.body.subarray(0, Math.floor(answer.body.length * share)));
    // A reset also discards bytes that the client has not read yet.
    await clock.sleep(UNTIL_READ_MS);
  }
  socket?.resetAndDestroy();
}

/** Sends a share of the body, then closes the connection. `how`: how the response announces the end of its body. */
export async function cutShort(
  response: ServerResponse,
  answer: Answer,
  how: 'contentLength' | 'chunked' | 'close',
  share: number,
): Promise<void> {
  const { socket } = response;
  const part = answer.body.subarray(0, Math.floor(answer.body.length * share));
  const framing = {
    contentLength: { 'content-length': String(answer.body.length) },
    chunked: { 'transfer-encoding': 'chunked' },
    close: { connection: 'close' },
  };
  socket?.write(headText(answer, framing[how]));
  if (how === 'chunked') socket?.write(`${part.length.toString(16)}\r\n`);
  socket?.write(part);
  if (how === 'chunked') socket?.write('\r\n');
  socket?.end();
}

/** Sends the body, or a head that never ends, a few bytes at a time. */
export async function slowly(
  response: ServerResponse,
  answer: Answer,
  { part, bytesPerSecond }: { part: 'head' | 'body'; bytesPerSecond: number },
  clock: SimulatorClock,
): Promise<void> {
  const hungUp = hangUp(response);
  const { socket } = response;
  const head = headText(answer, { 'content-length': String(answer.body.length), connection: 'close' });
  const bytes =
    part === 'body'
      ? answer.body
      : Buffer.from(`${head.slice(0, -'\r\n'.length)}x-slow: ${'s'.repeat(SLOW_HEAD_BYTES)}`);
  if (part === 'body') socket?.write(head);
  const step = Math.max(1, Math.floor(bytesPerSecond / SLOW_STEPS_PER_SECOND));
  for (let at = 0; at < bytes.length && !hungUp.aborted; at += step) {
    socket?.write(bytes.subarray(at, at + step));
    await clock.sleep((step / bytesPerSecond) * 1_000, hungUp);
  }
  socket?.end();
}

function headText({ status, headers }: Answer, framing: Record<string, string>): string {
  const lines = Object.entries({ ...headers, ...framing }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}

/** Returns a signal that aborts when the connection ends, so that no code waits for a client that has disconnected. */
export function hangUp(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

/** Resolves when the connection has taken the bytes, or has ended. */
async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.destroyed || response.write(bytes)) return;
  const settled = new AbortController();
  const events = ['drain', 'close'].map((name) =>
    once(response, name, { signal: settled.signal }).catch(() => undefined),
  );
  await Promise.race(events);
  settled.abort();
}
