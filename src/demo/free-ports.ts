import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the range from which Linux and macOS take the ports of outgoing connections (from 32768 and 49152). */
const FIRST_PORT = 20_000;
const LAST_PORT = 29_999;
const MAXIMUM_TRIES = 200;

/**
 * Ports on loopback that nobody listens on now, all different.
 *
 * They are not taken with "port 0": the system would choose among the ports of outgoing connections, and a client that
 * keeps asking for a broker which is restarting could then be given the broker's own port and keep it from starting.
 *
 * @param pick a random whole number from `first` to below `limit`.
 */
export async function freePorts(count: number, pick: (first: number, limit: number) => number = randomInt) {
  const held: Server[] = [];
  const ports: number[] = [];
  try {
    for (let tries = 0; ports.length < count && tries < MAXIMUM_TRIES; tries += 1) {
      const port = pick(FIRST_PORT, LAST_PORT + 1);
      const server = await listenOn(port);
      if (!server) continue;
      // Every port stays held until all are found, so that none is given twice.
      held.push(server);
      ports.push(port);
    }
  } finally {
    await Promise.all(held.map((server) => once(server.close(), 'close')));
  }
  if (ports.length < count) {
    throw new Error(`No ${count} free ports from ${FIRST_PORT} to ${LAST_PORT} after ${MAXIMUM_TRIES} tries.`);
  }
  return ports;
}

async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer();
  try {
    const listening = once(server, 'listening');
    server.listen({ host: '127.0.0.1', port, exclusive: true });
    await listening;
    return server;
  } catch {
    return undefined;
  }
}
