import type { FastifyInstance } from 'fastify';
import { RestError } from './rest-error.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Remembers which methods the routes have that are added from here on. What it returns, called once all are there, lets
 * their paths refuse all other methods, as Kafka Connect does: 405 says that the path is right, and 404 that it is not.
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const routed = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    routed.set(url, new Set([...(routed.get(url) ?? []), ...[method].flat()]));
  });
  return () => {
    for (const [url, methods] of [...routed]) {
      const allowed = [...methods].sort().join(', ');
      app.route({
        url,
        method: METHODS.filter((method) => !methods.has(method)),
        handler(_request, reply) {
          reply.header('allow', allowed);
          throw new RestError(405, 'HTTP 405 Method Not Allowed');
        },
      });
    }
  };
}
