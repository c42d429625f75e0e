import type { TestContext } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { SchemaRegistry } from '../../../src/records/avro/registry.ts';
import { type ConnectorOptions, runConnector } from '../../../src/run/connector.ts';
import type { TestStack } from '../kafka/stack.ts';
import { type RecordedEvent, recordedEvents } from '../ledgers/recorded-events.ts';
import { connectorEnvironment, type OwnSettings, settingsText } from './connector-process.ts';

const PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 20;
/** For connectors whose Kafka and registry are replaced: nothing answers there. */
const NOWHERE: TestStack = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

export interface OverriddenConnector {
  readonly seen: readonly RecordedEvent[];
  /** The sources that failed; resolves when the connector has ended. */
  readonly ended: Promise<readonly string[]>;
  /** Resolves once this holds; rejects when the connector ends before, or takes too long. */
  until(what: string, holds: (seen: readonly RecordedEvent[]) => boolean): Promise<void>;
  stop(): Promise<readonly string[]>;
}

/** A connector in this process with parts replaced by the test's own, stopped when the test ends. */
export async function startOverridden(
  t: TestContext,
  options: {
    readonly simulator: Simulator;
    readonly prefix: string;
    readonly overrides: NonNullable<ConnectorOptions['overrides']>;
    readonly source: OwnSettings | readonly OwnSettings[];
    /** Not needed where Kafka and registry are replaced. */
    readonly stack?: TestStack;
  },
): Promise<OverriddenConnector> {
  const { simulator, prefix, overrides, source, stack = NOWHERE } = options;
  const env = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix });
  const settings = await loadSettings({ text: settingsText(source), env });
  const { events, seen } = recordedEvents();
  const stopping = new AbortController();
  const ended = runConnector({
    settings,
    log: silent,
    events,
    signal: stopping.signal,
    overrides,
  });
  let isRunning = true;
  ended
    .catch(() => {})
    .finally(() => {
      isRunning = false;
    });
  const stop = () => {
    stopping.abort(new Error('the test stops it'));
    return ended;
  };
  t.after(() => stop().catch(() => {}));
  return {
    seen,
    ended,
    stop,
    async until(what, holds) {
      const deadlineMs = performance.now() + PATIENCE_MS;
      while (!holds(seen)) {
        const names = seen.slice(-20).map(({ name, fields }) => `${name} ${fields.kind ?? fields.err?.message ?? ''}`);
        const why = isRunning ? `${PATIENCE_MS} ms passed` : 'the connector ended';
        if (!isRunning || performance.now() > deadlineMs) throw new Error(`${why} before ${what}: ${names.join(', ')}`);
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
  };
}

/** A registry that takes every schema and numbers them. */
export function createMemoryRegistry(): SchemaRegistry {
  const texts: string[] = [];
  return {
    async schemaId(_subject, schema) {
      if (!texts.includes(schema)) texts.push(schema);
      return texts.indexOf(schema) + 1;
    },
    async schemaText(id) {
      const text = texts[id - 1];
      if (text === undefined) throw new Error(`No schema has the id ${id}.`);
      return text;
    },
  };
}
