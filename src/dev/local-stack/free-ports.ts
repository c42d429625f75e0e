import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports of outgoing connections on Linux and macOS (from 32768 and from 49152). */
const FIRST_PORT = 20_000;
const LAST_PORT = 29_999;
const MAXIMUM_TRIES = 200;

/**
 * Free ports on loopback, each for one caller while this process lives. "Port 0" would return a port from the range of
 * outgoing connections. There a client's connection could take the port of a broker that restarts.
 * @param pick a random whole number from `first` to below `limit`.
 */
export async function freePorts(count: number, pick: (first: number, limit: number) => number = randomInt) {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count && tries < MAXIMUM_TRIES; tries += 1) {
    const port = pick(FIRST_PORT, LAST_PORT + 1);
    // The port is reserved first, because the check listens on it for a moment and would disturb its owner.
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

/** Reserves the port until this process ends: binds the UDP port of the same number, which no part needs. */
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
