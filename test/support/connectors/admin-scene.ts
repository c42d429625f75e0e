import type { TestContext } from 'node:test';
import { openAdminPort } from '../../../src/admin/admin-port.ts';
import { type AdminServerOptions, createAdminListener } from '../../../src/admin/admin-server.ts';
import type { ConnectorOffset } from '../../../src/admin/connect-routes.ts';
import type { Whole } from '../../../src/admin/status/status.ts';
import { createStatusBoard } from '../../../src/admin/status/status-board.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { operator } from './operator.ts';

export const ADMIN_TOKEN = 'a-token-for-tests';
const SOURCES = [
  { name: 'instruments', type: 'instruments' },
  { name: 'checks', type: 'pre-trade-checks' },
] as const;

export type AdminScene = Awaited<ReturnType<typeof startAdminScene>>;

/** An admin server whose connectors get their state from the test; closed when the test ends. */
export async function startAdminScene(
  t: TestContext,
  settings: {
    readonly host?: string;
    readonly token?: string | null;
    readonly allowedHosts?: readonly string[];
    readonly prefix?: string;
  } = {},
) {
  const { host = '127.0.0.1', token = ADMIN_TOKEN, allowedHosts = [], prefix = 'p<q' } = settings;
  /** What was asked of the connectors, as `want instruments paused`. */
  const asked: string[] = [];
  const stop = new AbortController();
  const wishes = operator([...SOURCES.map(({ name }) => name), 'prices']);
  const clock: Pick<Clock, 'wallMs' | 'monotonicMs'> = { wallMs: () => scene.now, monotonicMs: () => scene.now };
  const note = async (what: string): Promise<void> => {
    if (scene.failure !== null) throw scene.failure;
    asked.push(what);
  };
  let offset: ConnectorOffset['offset'] = { since: '5-1', walk: 2 };
  const scene = {
    asked,
    operator: wishes,
    stop,
    /** Milliseconds since the epoch, of the server's clock; to be set. */
    now: Date.parse('2026-03-01T10:00:00.000Z'),
    /** When Kafka last answered; null: just now. */
    kafkaAnsweredMs: null as number | null,
    clocksAheadMs: new Map<string, number>(),
    /** The replicas, as Kafka sees them. */
    whole: null as Whole | null,
    /** What the operations throw, if anything. */
    failure: null as Error | null,
    ask: (path: string, init?: RequestInit): Promise<Response> => fetch(`${server.url}${path}`, init),
    /** With the token as a bearer token. */
    change: (method: string, path: string, body?: unknown): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
  const board = createStatusBoard({
    version: '1.2.3',
    prefix,
    sources: SOURCES,
    processor: 'prices',
    targets: wishes.targets,
    clock,
    kafkaAnsweredMs: () => scene.kafkaAnsweredMs ?? scene.now,
    clocksAheadMs: scene.clocksAheadMs,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    signal: stop.signal,
  });
  const options: AdminServerOptions = {
    settings: {
      host,
      port: 0,
      allowedHosts: [...allowedHosts],
      token: token === null ? null : Object.assign(async () => token, { readNow: async () => token, toJSON: () => '' }),
    },
    version: '1.2.3',
    status: board.status,
    whole: async () => scene.whole,
    refreshed: board.refreshed,
    metrics: { text: async () => 'a_metric 1\n', contentType: 'text/plain; version=0.0.4' },
    settingsFile: '/etc/own.yaml',
    connectors: [
      ...SOURCES.map(({ name, type }) => ({
        name,
        type: 'source' as const,
        config: { name, 'connector.class': type },
        topics: [`p.${name}`],
      })),
      { name: 'prices', type: 'sink', config: { name: 'prices', 'connector.class': 'prices' }, topics: ['p.prices'] },
    ],
    operations: {
      want: (connector, state) => note(`want ${connector} ${state}`),
      restart: (connector, { onlyFailed }) => note(`restart ${connector}${onlyFailed ? ' if it has failed' : ''}`),
      offsets: async () => [{ partition: { endpoint: 'instruments' }, offset }],
      async alterOffset(connector, altered) {
        await note(`alter ${connector} ${JSON.stringify(altered)}`);
        offset = altered;
      },
    },
  };
  const server = await openAdminPort({ host, port: 0 }, (opened) => createAdminListener(opened, options));
  t.after(() => server.close());
  return Object.assign(scene, { server, board });
}

/** Everything that readiness asks for. */
export function makeReady({ board }: Pick<AdminScene, 'board'>): void {
  board.topicsProven('cluster-1');
  for (const { name: source } of SOURCES) {
    board.events.sourceStarted({ source, since: '5-1', secondsToRetentionCliff: 600_000 });
    board.events.schemasRegistered({ source });
  }
  board.events.processorJoined({ partitions: 0 });
}
