import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../../src/observe/metrics.ts';
import { memoryScene } from '../../support/connectors/memory-scene.ts';
import { scraped } from '../../support/ledgers/scraped.ts';

const SOURCE = 'instruments';

test('a scrape counts what is on the topics, what the provider was asked, and what went wrong', async (t) => {
  const scene = await memoryScene(t, {
    instruments: 200,
    seed: 9,
    faults: [
      { match: 'instruments', nth: 2, count: 2, fault: { kind: 'status', status: 503 } },
      { match: 'instruments', nth: 5, fault: { kind: 'cutJson' } },
      { match: 'instruments', nth: 7, fault: { kind: 'poison', rows: [1, 2], how: { text: '{"id":7,"name":{}}' } } },
      { match: 'token', fault: { kind: 'status', status: 500 } },
    ],
  });
  const { simulator } = scene;
  const metrics = createMetrics({ version: '1.2.3', sources: [SOURCE] });
  const connector = await scene.start({ limit: 50, walkInterval: '365d', pollInterval: '10s' }, { metrics });
  await connector.event('walkCompleted');
  const ids = [...simulator.ledger.instruments()].map(({ id }) => id).slice(0, 20);
  const last = ids.map((id) => simulator.publish({ kind: 'datachange', id }).offset).at(-1);
  await connector.until('the events', (seen) =>
    seen.some(({ name, fields }) => name === 'streamCommitted' && fields.since === last),
  );
  await connector.stop();

  const series = scraped(await metrics.text());
  const sum = (name: string, ...labels: readonly string[]) =>
    [...series]
      .filter(([key]) => key.startsWith(`spconnect_${name}{`) && labels.every((label) => key.includes(label)))
      .reduce((total, [, value]) => total + value, 0);
  const topic = async (name: string) => (await scene.read(name)).length;

  const events = await topic('instrument-events');
  assert.equal(events, 20);
  assert.equal(sum('records_written_total', 'record="event"'), events);
  // Each event writes its instrument too.
  assert.equal(sum('records_written_total', 'record="instrument"'), (await topic('instruments')) - events);
  assert.equal(sum('dead_letters_total'), await topic('dead-letters'));
  assert.equal(sum('dead_letters_total', 'reason="wrongType"'), 1);
  assert.equal(sum('walk_rows_total'), 199);

  const asked = simulator.requests.last;
  const askedOf = (endpoint: string) => asked.filter((request) => request.endpoint === endpoint).length;
  // The page that was asked for ahead is dropped with each of the three that failed: where its request is still under way,
  // it is not counted.
  const dropped = askedOf('instruments') - sum('http_requests_total', 'endpoint="/v1/instruments"');
  assert.ok(dropped >= 0 && dropped <= 3, String(dropped));
  // The stop may cut a poll of the stream, which is then not counted as a failure.
  const uncounted = askedOf('events') - sum('http_requests_total', 'endpoint="/v1/instruments/events"');
  assert.ok(uncounted === 0 || uncounted === 1, String(uncounted));
  assert.equal(sum('http_requests_total', 'code="503"'), 2);
  assert.equal(
    sum('http_requests_total', 'code="BODY_INCOMPLETE"') + sum('http_requests_total', 'code="BODY_MALFORMED"'),
    1,
  );
  assert.equal(series.get('spconnect_token_failing{client="referenceData"}'), 0);

  const failed = connector.fieldsOf('attemptFailed').length;
  assert.ok(failed >= 4, String(failed));
  assert.equal(sum('poll_failures_total'), failed);
  assert.equal(sum('source_status', 'status="running"'), 1);
  const aheadSeconds = series.get('spconnect_clock_ahead_seconds{clock="referenceData"}') ?? Number.NaN;
  assert.ok(Math.abs(aheadSeconds) < 60, String(aheadSeconds));
  assert.equal(sum('rate_limit_processes', 'client="referenceData"'), 1);
  const cliff = sum('seconds_to_retention_cliff');
  assert.ok(cliff > 6 * 86_400 && cliff <= 7 * 86_400, String(cliff));
  const nextWalk = sum('seconds_to_next_walk');
  assert.ok(nextWalk > 363 * 86_400 && nextWalk <= 365 * 86_400, String(nextWalk));
});
