import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokerSettings } from '../../src/dev/local-stack/broker-settings.ts';
import { innerListeners } from '../support/network/inner-listener.ts';
import { acknowledgedOffsets } from './acknowledged-offsets.ts';
import { countSkipped } from './skipped-markers.ts';

test('brokers behind proxies speak to each other past them', async (t) => {
  const nodes = [1, 2, 3].map((id) => ({
    id,
    listener: `127.0.0.1:${id}1`,
    advertised: `proxy:${id}`,
    controller: `127.0.0.1:${id}2`,
  }));
  const inner = await innerListeners(nodes.length);
  t.after(() => Promise.all(inner.proxies.map((proxy) => proxy.close())));
  const all = nodes.map((node) => brokerSettings(node, nodes, inner.settings(node)));
  const listeners = all.map((settings) => settings.listeners?.split(',') ?? []);
  const advertised = all.map((settings) => settings['advertised.listeners']?.split(',') ?? []);
  const own = listeners.map((list) => list.find((listener) => listener.startsWith('INNER://')));
  assert.equal(new Set(own).size, 3, 'each has a port of its own');
  for (const [index, settings] of all.entries()) {
    assert.equal(settings['inter.broker.listener.name'], 'INNER');
    assert.equal(listeners[index]?.[0], `PLAINTEXT://127.0.0.1:${index + 1}1`);
    assert.deepEqual(advertised[index], [`PLAINTEXT://proxy:${index + 1}`, `INNER://${inner.proxies[index]?.address}`]);
  }
});

test('skipped markers are counted in the log of a broker', () => {
  const skipped =
    "12:00 [TxnMarkerSenderThread-1] INFO x - [Manager 1]: Couldn't find leader endpoint for partitions Set(t-1) while trying";
  assert.equal(countSkipped(`${skipped}\n12:01 else\n${skipped}\n`), 2);
  assert.equal(countSkipped('12:01 else\n'), 0);
});

test('a commit is forgotten when a source begins before what was acknowledged', () => {
  const offsets = acknowledgedOffsets();
  const reports = [
    ['sourceStarted', null, 0],
    ['eventsCommitted', '9-0', 0],
    ['pageCommitted', null, 0],
    ['eventsCommitted', '10-1', 0],
    ['sourceStarted', '10-1', 0],
    ['sourceStarted', '10-0', 1],
    ['sourceStarted', '10-0', 1],
    ['eventsCommitted', '10-2', 1],
    ['sourceStarted', '11-0', 1],
    ['eventsCommitted', '10-9', 1],
    ['sourceStarted', '9-9', 2],
  ] as const;
  for (const [event, since, forgotten] of reports) {
    offsets.report(event, since);
    assert.equal(offsets.forgotten(), forgotten, `${event} ${since}`);
  }
});
