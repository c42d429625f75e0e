import type { Server } from 'node:net';

/** Whether a server at this address listens on every address of the machine. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** The port that a server was given where 0 is configured. */
export function boundPort(server: Pick<Server, 'address'>, configured: number): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : configured;
}
