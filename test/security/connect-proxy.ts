import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { TestContext } from 'node:test';

/** A proxy on this machine that leads every tunnel to one port, whatever name was asked for. */
export interface ConnectProxy {
  /** host:port. */
  readonly address: string;
  /** For each tunnel: the name that was asked for, the login at the proxy, and what else was sent along as a login. */
  readonly connects: string[];
  /** Requests without a tunnel. */
  readonly plain: string[];
  leadTo(port: number): void;
}

export async function connectProxy(t: TestContext): Promise<ConnectProxy> {
  const connects: string[] = [];
  const plain: string[] = [];
  let targetPort = 0;
  const proxy = createServer((request, response) => {
    plain.push(request.url ?? '');
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  proxy.on('connect', (request, socket) => {
    connects.push(`${request.url} ${request.headers['proxy-authorization']} ${request.headers.authorization}`);
    const target = connect(targetPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    target.on('error', () => socket.destroy());
    socket.on('error', () => target.destroy());
    socket.on('close', () => target.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    connects,
    plain,
    leadTo(port) {
      targetPort = port;
    },
  };
}
