import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { portOf } from '../../../test/support/network/loopback-port.ts';
import { systemClock } from '../../support/clock.ts';
import { freePorts } from './free-ports.ts';
import { givenStack } from './local-stack.ts';

function context(env: Record<string, string>) {
  return { env, clock: systemClock, onProgress: () => undefined, signal: new AbortController().signal };
}

test('only one of the two variables is an error that names the other variable', async () => {
  await assert.rejects(givenStack(context({ KAFKA_BROKERS: 'a:9092' })), {
    code: 'STACK_UNAVAILABLE',
    message: 'KAFKA_BROKERS is set and SCHEMA_REGISTRY_URL is not: set both, or neither.',
  });
  await assert.rejects(givenStack(context({ SCHEMA_REGISTRY_URL: 'http://a' })), {
    message: 'SCHEMA_REGISTRY_URL is set and KAFKA_BROKERS is not: set both, or neither.',
  });
});

test('a missing broker or registry is reported at once, without credentials', async (t) => {
  const address = `127.0.0.1:${await portOf(
    t,
    createServer((socket) => socket.destroy()),
  )}`;
  const [dead] = await freePorts(1);
  const brokerDead = { KAFKA_BROKERS: `127.0.0.1:${dead}`, SCHEMA_REGISTRY_URL: `http://${address}` };
  await assert.rejects(givenStack(context(brokerDead)), {
    message: `No broker of KAFKA_BROKERS accepts connections: 127.0.0.1:${dead}.`,
  });
  const registryDead = { KAFKA_BROKERS: address, SCHEMA_REGISTRY_URL: `http://user:secret@127.0.0.1:${dead}/api` };
  await assert.rejects(givenStack(context(registryDead)), {
    message: `The schema registry of SCHEMA_REGISTRY_URL accepts no connections: 127.0.0.1:${dead}.`,
  });
  await assert.rejects(givenStack(context({ KAFKA_BROKERS: address, SCHEMA_REGISTRY_URL: address })), {
    message: 'SCHEMA_REGISTRY_URL is not an http or https URL.',
  });
});
