import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range from which Linux and macOS take the ports of outgoing connections (from 32768 and 49152). */
const FIRST_PORT = 20_000;
const LAST_PORT = 29_999;
const MAXIMUM_TRIES = 200;

/**
 * Free ports on loopback, each given to one caller while this process lives. "Port 0" would take a port of outgoing
 * connections, where a waiting client could occupy a restarting broker's port.
 * @param pick a random whole number from `first` to below `limit`.
 */
export async function freePorts(count: number, pick: (first: number, limit: number) => number = randomInt) {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count && tries < MAXIMUM_TRIES; tries += 1) {
    const port = pick(FIRST_PORT, LAST_PORT + 1);
    // In this order: the check listens for a moment, and would disturb the caller that was given that port.
    if ((await reserve(port)) && (await isFree(port))) ports.push(port);
  }
  if (ports.length < count) {
    throw new Error(`No ${count} free ports from ${FIRST_PORT} to ${LAST_PORT} after ${MAXIMUM_TRIES} tries.`);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen({ host: '127.0.0.1', port, exclusive: true });
    await listening;
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}

/** Takes the UDP port of the same number, which no part needs, as a sign to others, until this process ends. */
async function reserve(port: number): Promise<boolean> {
  const sign = createSocket('udp4');
  try {
    const bound = once(sign, 'listening');
    sign.bind({ address: '127.0.0.1', port, exclusive: true });
    await bound;
    sign.unref();
    return true;
  } catch {
    sign.close();
    return false;
  }
}
