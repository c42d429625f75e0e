import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** Has a server listen on this machine until the test ends, which cuts what is open then. @returns its port. */
export async function portOf(t: Pick<TestContext, 'after'>, server: Server): Promise<number> {
  const open = new Set<Socket>();
  // Errors end in `close`.
  server.on('connection', (socket) => open.add(socket.on('error', () => {}).on('close', () => open.delete(socket))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of open) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}
