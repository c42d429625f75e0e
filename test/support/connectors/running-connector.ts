import type { TestContext } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { Events } from '../../../src/observe/events.ts';
import { type ConnectorOptions, runConnector } from '../../../src/run/connector.ts';
import type { Roles } from '../../../src/run/context.ts';
import type { TestStack } from '../kafka/stack.ts';
import { type RecordedEvent, recordedEvents } from '../ledgers/recorded-events.ts';
import { connectorEnvironment, type OwnSettings, quickSettings, settingsText } from './connector-process.ts';

const PATIENCE_MS = 300_000;
/** Nothing answers there. */
export const NOWHERE: TestStack = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

export type RunningConnector = Awaited<ReturnType<typeof startConnector>>;

/** A connector in this process, stopped when the test ends. */
export async function startConnector(
  t: TestContext,
  options: {
    /** Not needed where Kafka and registry are replaced. */
    readonly stack?: TestStack;
    readonly simulator: Simulator;
    readonly prefix: string;
    /** One source unless a list is given. */
    readonly source?: OwnSettings | readonly OwnSettings[];
    readonly more?: string;
    /** Further settings of Kafka, beginning with a comma. */
    readonly kafka?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly roles?: Roles;
    readonly overrides?: ConnectorOptions['overrides'];
    /** False: a source has the usual intervals. */
    readonly isQuick?: boolean;
  },
) {
  const { stack = NOWHERE, simulator, prefix, isQuick = true } = options;
  const sources = [options.source ?? {}].flat().map((own) => ({ ...(isQuick && quickSettings(own.type)), ...own }));
  const text = settingsText(sources, options.more, options.kafka);
  const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, ...options.env });
  const settings = await loadSettings({ text, env });
  const waiting = new Set<() => void>();
  const { events, seen } = recordedEvents(() => {
    for (const look of waiting) look();
  });
  const stopping = new AbortController();
  /** The sources that failed; resolves when the connector has ended. */
  const ended = runConnector({
    settings,
    log: silent,
    events,
    signal: stopping.signal,
    ...(options.roles && { roles: options.roles }),
    ...(options.overrides && { overrides: options.overrides }),
  });
  ended.catch(() => {});
  const stop = () => {
    stopping.abort(new Error('the test stops it'));
    return ended;
  };
  t.after(() => stop().catch(() => {}));
  /** Resolves once this holds of the events; rejects when the connector ends before. */
  const until = (what: string, holds: (seen: readonly RecordedEvent[]) => boolean): Promise<void> => {
    const found = Promise.withResolvers<void>();
    const look = () => {
      if (holds(seen)) found.resolve();
    };
    const missing = (why: string) => {
      const last = seen.slice(-20).map(({ name, fields }) => `${name} ${fields?.kind ?? fields?.err?.message ?? ''}`);
      found.reject(new Error(`${why} before ${what}; seen: ${last.join(', ')}`));
    };
    const patience = setTimeout(() => missing(`${PATIENCE_MS} ms passed`), PATIENCE_MS);
    ended.then(
      () => missing('the connector ended'),
      (error) => missing(`the connector ended (${error})`),
    );
    waiting.add(look);
    look();
    return found.promise.finally(() => {
      clearTimeout(patience);
      waiting.delete(look);
    });
  };
  return {
    seen,
    ended,
    stop,
    until,
    fieldsOf: (name: keyof Events) => seen.filter((event) => event.name === name).map(({ fields }) => fields),
    /** The first event of this name, past or to come; rejects when the connector ends without it. */
    async event(name: keyof Events) {
      const find = () => seen.find((event) => event.name === name);
      await until(name, () => find() !== undefined);
      return find() as RecordedEvent;
    },
  };
}
