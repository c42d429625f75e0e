import type { FastifyInstance } from 'fastify';
import { workerInfo } from '../connect-worker.ts';
import type { Status } from './status.ts';
import { statusPage, statusPagePolicy } from './status-page.ts';

/** The status page for people, the same as JSON, and at the root, for tools, the description that Kafka Connect gives of itself. */
export function addStatusRoutes(app: FastifyInstance, { status }: { readonly status: () => Status }): void {
  const policy = statusPagePolicy();
  app.get('/status.json', () => status());
  app.get('/', (request, reply) => {
    reply.header('vary', 'accept');
    if (!request.headers.accept?.includes('text/html')) return workerInfo(status());
    const page = statusPage(status(), !new URLSearchParams(request.url.split('?')[1]).has('hold'));
    return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
  });
}
