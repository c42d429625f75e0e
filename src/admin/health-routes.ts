import type { FastifyInstance } from 'fastify';
import type { Status } from './status/status.ts';

export interface HealthRoutes {
  readonly status: () => Status;
  /** What Prometheus scrapes. */
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
}

/**
 * Whether the process lives (it does when it answers; a failed source does not change that), whether it does all that is
 * wanted of it, and its figures.
 */
export function addHealthRoutes(app: FastifyInstance, { status, metrics }: HealthRoutes): void {
  app.get('/livez', (_request, reply) => reply.type('text/plain; charset=utf-8').send('ok\n'));
  app.get<{ Querystring: { verbose?: string } }>('/readyz', ({ query }, reply) => {
    const { ready, checks } = status();
    const lines = checks.map(({ name, ok, why }) => `[${ok ? '+' : '-'}] ${name}: ${oneLine(why)}`);
    // A process that is not ready always says why.
    const shown = query.verbose !== undefined || !ready ? lines : [];
    const text = [...shown, ready ? 'ready' : 'not ready'].join('\n');
    return reply
      .code(ready ? 200 : 503)
      .type('text/plain; charset=utf-8')
      .send(`${text}\n`);
  });
  // As Kafka Connect has it since 4.0.
  app.get('/health', (_request, reply) => {
    const { ready, checks } = status();
    const message = ready ? 'Worker has completed startup and is ready to handle requests.' : whyNot(checks);
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'healthy' : 'unhealthy', message });
  });
  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.text();
    return reply.type(metrics.contentType).send(text);
  });
}

function whyNot(checks: Status['checks']): string {
  return checks.flatMap(({ name, ok, why }) => (ok ? [] : [`${name}: ${oneLine(why)}`])).join('; ');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
