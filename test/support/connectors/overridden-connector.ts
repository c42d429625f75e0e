import type { TestContext } from 'node:test';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { SchemaRegistry } from '../../../src/records/avro/registry.ts';
import type { ConnectorOptions } from '../../../src/run/connector.ts';
import type { TestStack } from '../kafka/stack.ts';
import type { RecordedEvent } from '../ledgers/recorded-events.ts';
import type { OwnSettings } from './connector-process.ts';
import { type RunningConnector, startConnector } from './running-connector.ts';

const PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 20;
/** For connectors whose Kafka and registry are replaced: nothing answers there. */
const NOWHERE: TestStack = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };

export interface OverriddenConnector extends RunningConnector {
  /** Resolves once this holds; rejects when the connector ends before, or takes too long. */
  until(what: string, holds: (seen: readonly RecordedEvent[]) => boolean): Promise<void>;
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
  const connector = await startConnector(t, { stack: NOWHERE, isQuick: false, ...options });
  const { seen, ended } = connector;
  let isRunning = true;
  ended
    .catch(() => {})
    .finally(() => {
      isRunning = false;
    });
  return {
    ...connector,
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
