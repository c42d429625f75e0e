import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The range of ports is below the ports of outgoing connections (Linux: from 32768, macOS: from 49152). */
const FIRST_PORT = 20_000;
const LAST_PORT = 29_999;
const MAXIMUM_TRIES = 200;

/**
 * Returns free ports of the loopback interface. While this process lives, no other caller gets these ports. This
 * function does not ask the system for a port (port 0), because the system could return a port of outgoing connections.
 * A client's connection could then take the port of a broker that restarts.
 * @param pick a random whole number from `first` to below `limit`.
 */
export async function freePorts(count: number, pick: (first: number, limit: number) => number = randomInt) {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count && tries < MAXIMUM_TRIES; tries += 1) {
    const port = pick(FIRST_PORT, LAST_PORT + 1);
    // Reserves the port first, because `isFree` listens on the port for a moment. This would disturb another owner.
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

/** Reserves the port until this process ends: binds the UDP port with the same number. No program here uses UDP. */
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
