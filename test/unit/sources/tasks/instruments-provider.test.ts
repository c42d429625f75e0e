import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import type { BodyEdges } from '../../../../src/provider/http/body-chunks.ts';
import type { HttpResponse } from '../../../../src/provider/http/http-response.ts';
import type { ReferenceData } from '../../../../src/provider/reference-data.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { createEventDecoder } from '../../../../src/records/decoding/event-decoder.ts';
import { createPageDecoder, type PageDecoder } from '../../../../src/records/decoding/page-decoder.ts';
import { createInstrumentsProvider, PageSize } from '../../../../src/sources/tasks/instruments-provider.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';

const { signal } = new AbortController();
const PAGE = '{"instruments":[],"links":{"next":null,"events":"/v1/instruments/events?since=1-0"}}';
const EVENTS = '{"nextId":"1-0","events":[],"links":{"next":"/v1/instruments/events?since=1-0&maxEvents=500"}}';

/** A provider whose answers are held back until they are released, or fail. */
function heldBack() {
  const asked: { readonly items: number; readonly answer: PromiseWithResolvers<void> }[] = [];
  const body = { arrived: async (): Promise<BodyEdges | null> => null };
  const hold = async <T>(items: number, text: string, consume: (answer: HttpResponse) => Promise<T>): Promise<T> => {
    const answer = Promise.withResolvers<void>();
    asked.push({ items, answer });
    await answer.promise;
    const reported = { date: null };
    return consume({ ...reported, body: chunked(text), arrived: () => body.arrived(), bytes: () => text.length });
  };
  const referenceData: ReferenceData = {
    baseUrl: 'http://127.0.0.1',
    instrumentsEndpoint: '/v1/instruments',
    eventsEndpoint: '/v1/instruments/events',
    instruments: ({ limit }, consume) => hold(limit, PAGE, consume),
    events: ({ maxEvents }, consume) => hold(maxEvents, EVENTS, consume),
  };
  const instrument = { schema: readSchemaText('Instrument'), schemaId: 1 };
  const common = { onMismatch: 'deadLetter', clock: systemClock } as const;
  const decoder = createPageDecoder({ ...instrument, ...common, listKey: 'instruments' });
  const decoding = { now: 0, most: 0 };
  const pages: PageDecoder = {
    async decode(body) {
      decoding.now += 1;
      decoding.most = Math.max(decoding.most, decoding.now);
      await new Promise((resolve) => setImmediate(resolve));
      return decoder.decode(body).finally(() => {
        decoding.now -= 1;
      });
    },
  };
  const events = createEventDecoder({
    ...common,
    eventSchema: readSchemaText('InstrumentEvent'),
    eventSchemaId: 2,
    instrumentSchema: instrument.schema,
    instrumentSchemaId: 1,
  });
  const sizes = { limit: 1_000, maxEvents: 500, maxDeadLetters: 0.05 };
  const decoders = async () => ({ pages, events });
  const provider = createInstrumentsProvider({ referenceData, decoders, ...sizes, clock: systemClock });
  const until = async (count: number) => {
    while (asked.length < count) await new Promise((resolve) => setImmediate(resolve));
    const newest = asked.at(-1);
    assert.ok(newest !== undefined && asked.length === count);
    return newest;
  };
  return { provider, until, asked, body, decoding };
}

test('a page that is refused while the stream is read makes pages smaller, and leaves the stream alone', async () => {
  const { provider, until } = heldBack();
  const page = provider.page(null, signal);
  const pageAsked = await until(1);
  const events = provider.after('1-0', signal);
  const eventsAsked = await until(2);
  assert.deepEqual([pageAsked.items, eventsAsked.items], [1_000, 500]);
  pageAsked.answer.reject(new ConnectorError('BODY_TOO_LARGE', 'too much'));
  await assert.rejects(page, { code: 'BODY_TOO_LARGE' });
  eventsAsked.answer.resolve();
  await events;
  for (const [at, [ask, items]] of (
    [
      [() => provider.after('1-0', signal), 500],
      [() => provider.page(null, signal), 500],
    ] as const
  ).entries()) {
    const answered = ask();
    const { items: asked, answer } = await until(3 + at);
    assert.equal(asked, items);
    answer.resolve();
    await answered;
  }
});

test('a probe for the start of the stream that fails says nothing about the size of pages', async () => {
  const { provider, until } = heldBack();
  for (let tries = 1; tries <= 3; tries++) {
    const start = provider.start(signal);
    const { items, answer } = await until(tries);
    assert.equal(items, 1);
    answer.reject(new ConnectorError('PROVIDER_REFUSED', 'a bad hour', { fields: { status: 400 } }));
    await assert.rejects(start, { code: 'PROVIDER_REFUSED' });
  }
  const page = provider.page(null, signal);
  const { items, answer } = await until(4);
  assert.equal(items, 1_000);
  answer.resolve();
  await page;
});

test('only the provider refuses an offset: a token that cannot be had says nothing of it, whatever its status', async () => {
  const { provider, until } = heldBack();
  for (const [at, status] of [404, 410].entries()) {
    const refused = provider.after('1-0', signal);
    const { answer } = await until(2 * at + 1);
    answer.reject(new ConnectorError('PROVIDER_REFUSED', 'gone', { fields: { status } }));
    assert.equal((await refused).kind, 'refused');
    const failed = provider.after('1-0', signal);
    (await until(2 * at + 2)).answer.reject(new ConnectorError('TOKEN_FAILED', 'no token', { fields: { status } }));
    await assert.rejects(failed, { code: 'TOKEN_FAILED' });
  }
});

test('of pages that have come at the same time, one is decoded at a time', async () => {
  const { provider, until, asked, decoding } = heldBack();
  const pages = ['1', '2', '3'].map((minId) => provider.page(minId, signal));
  await until(3);
  for (const { answer } of asked) answer.resolve();
  await Promise.all(pages);
  assert.equal(decoding.most, 1);
});

test('a page has arrived with its last byte, and not before: what is asked of the stream then covers all that it shows', async () => {
  const { provider, until, body } = heldBack();
  const edges = Promise.withResolvers<BodyEdges | null>();
  body.arrived = () => edges.promise;
  const seen: (string | null)[] = [];
  const page = provider.page(null, signal, (probableNext) => seen.push(probableNext));
  (await until(1)).answer.resolve();
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, [], 'its first bytes are here');
  edges.resolve({ first: Buffer.from(PAGE), last: Buffer.from(PAGE) });
  await page;
  assert.deepEqual(seen, [null]);
});

test('a page that is too long to be kept until its last byte is never said to have arrived', async () => {
  const { provider, until } = heldBack();
  const page = provider.page(null, signal, () => assert.fail('its end is not known'));
  (await until(1)).answer.resolve();
  assert.equal((await page).next, null);
});

const refusal = new ConnectorError('PROVIDER_ASKS_FOR_LESS', 'too many');

/** Asks so many times, each time with this failure or with success; gives the sizes that were asked for. */
async function ask(size: PageSize, times: number, failure?: Error): Promise<number[]> {
  const asked: number[] = [];
  for (let count = 0; count < times; count++) {
    const answer = size.ask(async (items) => {
      asked.push(items);
      if (failure) throw failure;
      return 'answer';
    });
    if (failure) await assert.rejects(answer, failure);
    else assert.equal(await answer, 'answer');
  }
  return asked;
}

test('every refusal halves the page, down to one item', async () => {
  assert.deepEqual(await ask(new PageSize(1_000), 10, refusal), [1_000, 500, 250, 125, 62, 31, 15, 7, 3, 1]);
});

test('a size that was refused is not asked for again', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, refusal);
  assert.deepEqual(new Set(await ask(size, 100)), new Set([500]));
});

test('where even one item is refused the size was not the reason, and pages are whole again afterwards', async () => {
  const size = new PageSize(1_000);
  await ask(size, 10, refusal);
  assert.deepEqual(await ask(size, 3), [1_000, 1_000, 1_000]);
});

test('after a time-out the page grows back', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, new ConnectorError('PROVIDER_TIMEOUT', 'slow'));
  const asked = await ask(size, 100);
  assert.deepEqual([asked[0], asked.at(-1)], [500, 1_000]);
});

test('a plain 400 counts as too many, since its body is not shown by the interface', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, new ConnectorError('PROVIDER_REFUSED', 'bad', { fields: { status: 400 } }));
  assert.deepEqual(await ask(size, 1), [500]);
});

test('other failures leave the size alone', async () => {
  const size = new PageSize(1_000);
  await ask(size, 1, new ConnectorError('PROVIDER_BUSY', 'later'));
  await ask(size, 1, new ConnectorError('PROVIDER_REFUSED', 'not found', { fields: { status: 404 } }));
  await ask(size, 1, new Error('other'));
  assert.deepEqual(await ask(size, 1), [1_000]);
});

test('a provider that says how much one answer holds is asked for that, and now and then for more', async () => {
  const size = new PageSize(500);
  size.named(15, 15, 500);
  assert.deepEqual(await ask(size, 11), [...Array(10).fill(15), 30]);
  size.named(15, 15, 30);
  assert.deepEqual(await ask(size, 1), [15]);
});

test('what an answer says of its size is not believed where it holds more, nor followed upwards', async () => {
  const size = new PageSize(500);
  size.named(1, 2, 500);
  size.named(1_000, 0, 500);
  size.named(null, 0, 500);
  size.named(7, 7, 7);
  assert.deepEqual(await ask(size, 1), [500]);
});

test('a response that cannot be read is closed in on where items can be spoiled, and grows back behind the bad one', async () => {
  const malformed = new ConnectorError('BODY_MALFORMED', 'not JSON');
  const size = new PageSize(8, true);
  assert.deepEqual(await ask(size, 6, malformed), [8, 4, 2, 1, 1, 1], 'the bad item stays alone');
  await ask(size, 60);
  assert.deepEqual(await ask(size, 1), [8]);
  assert.deepEqual(await ask(new PageSize(8), 3, malformed), [8, 8, 8], 'a page of the list holds nothing before it');
});
