import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokerSettings } from '../../../src/local-stack/broker-settings.ts';
import { innerListeners } from '../../campaign/inner-listener.ts';
import { countSkipped } from '../../campaign/skipped-markers.ts';

test('brokers behind proxies speak to each other past them', async () => {
  const nodes = [1, 2, 3].map((id) => ({
    id,
    listener: `127.0.0.1:${id}1`,
    advertised: `proxy:${id}`,
    controller: `127.0.0.1:${id}2`,
  }));
  const inner = await innerListeners(nodes.length);
  const all = nodes.map((node) => brokerSettings(node, nodes, inner(node)));
  const listeners = all.map((settings) => settings.listeners?.split(',') ?? []);
  const advertised = all.map((settings) => settings['advertised.listeners']?.split(',') ?? []);
  const own = listeners.map((list) => list.find((listener) => listener.startsWith('INNER://')));
  assert.equal(new Set(own).size, 3, 'each has a port of its own');
  for (const [index, settings] of all.entries()) {
    assert.equal(settings['inter.broker.listener.name'], 'INNER');
    assert.equal(listeners[index]?.[0], `PLAINTEXT://127.0.0.1:${index + 1}1`);
    assert.deepEqual(advertised[index], [`PLAINTEXT://proxy:${index + 1}`, own[index]]);
  }
});

test('skipped markers are counted in the log of a broker', () => {
  const skipped =
    "12:00 [TxnMarkerSenderThread-1] INFO x - [Manager 1]: Couldn't find leader endpoint for partitions Set(t-1) while trying";
  assert.equal(countSkipped(`${skipped}\n12:01 else\n${skipped}\n`), 2);
  assert.equal(countSkipped('12:01 else\n'), 0);
});
