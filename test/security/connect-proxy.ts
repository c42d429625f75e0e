import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { portOf } from '../support/network/loopback-port.ts';

/** A proxy on this machine that leads every tunnel to one port, whatever name was asked for. */
export async function connectProxy(t: TestContext) {
  /** For each tunnel: the name that was asked for, the login at the proxy, and what else was sent along as a login. */
  const connects: string[] = [];
  /** Requests without a tunnel. */
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
  return {
    address: `127.0.0.1:${await portOf(t, proxy)}`,
    connects,
    plain,
    leadTo(port: number) {
      targetPort = port;
    },
  };
}
