import type { TestContext } from 'node:test';
import { eventually } from '../runner/eventually.ts';
import type { OwnSettings } from './connector-process.ts';
import { type Installation, type InstallationOptions, testInstallation } from './installation.ts';
import type { RunningConnector } from './running-connector.ts';

export const INSTRUMENTS = 60;
const TOKEN = 'the-token-of-this-test';

export type AdministeredConnector = ReturnType<typeof administered>;

interface AdminWorld extends Omit<Installation, 'start'> {
  /** A connector of this installation; the one before must have stopped. */
  start(source?: OwnSettings, others?: readonly OwnSettings[]): Promise<AdministeredConnector>;
}

/** A test on an installation whose connectors have an admin server on a free port. */
export function testAdmin(
  title: string,
  options: Pick<InstallationOptions, 'prices'>,
  body: (t: TestContext, world: AdminWorld) => Promise<void>,
): void {
  const simulator = { instruments: INSTRUMENTS };
  const env = { ADMIN_ENABLED: 'true', ADMIN_TOKEN: TOKEN };
  testInstallation(title, { simulator, source: { limit: 20 }, env, ...options }, (t, at) =>
    body(t, {
      ...at,
      async start(source = {}, others = []) {
        const connector = await at.start({ source: [{ limit: 20, ...source }, ...others] });
        const { url } = (await connector.event('adminListening')).fields;
        return administered(connector, url);
      },
    }),
  );
}

function administered(connector: RunningConnector, url: string) {
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, init);
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: answer.status, body: isJson ? (JSON.parse(text) as unknown) : text };
  };
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return {
    ...connector,
    /** The base of the admin server's addresses; with the token as a login for tools that take it from there. */
    url,
    urlWithLogin: url.replace('//', `//operator:${TOKEN}@`),
    get: (path: string) => ask(path),
    change: (method: string, path: string, body?: unknown) =>
      ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }),
    /** Waits until the connector's and its tasks' states are these: `PAUSED PAUSED`. */
    async states(source: string, wanted: string) {
      const shown = async () => {
        const { connector: own, tasks } = (await ask(`/connectors/${source}/status`)).body as {
          readonly connector: { readonly state: string };
          readonly tasks: readonly { readonly state: string }[];
        };
        return [own, ...tasks].map(({ state }) => state).join(' ');
      };
      await eventually(`${source} is ${wanted}`, shown, (found) => found === wanted);
    },
  };
}
