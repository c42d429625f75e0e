import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { HttpClient, HttpRequest } from '../../../src/provider/http/client.ts';
import { createPreTradeChecks, nextCheckOffset } from '../../../src/provider/pre-trade-checks.ts';
import { createReferenceData, filterText } from '../../../src/provider/reference-data.ts';

const BASE = 'https://provider.example/reference-data';
const SIGNAL = new AbortController().signal;

function recordingHttp(): { readonly http: HttpClient; readonly asked: HttpRequest[] } {
  const asked: HttpRequest[] = [];
  const get = (request: HttpRequest) => {
    asked.push(request);
    return Promise.reject(new Error('only recorded'));
  };
  return { asked, http: { get, post: get, share() {}, close: async () => {} } };
}

const nothing = async () => {};

test('the first call has no since, the others have; a single check is asked for by its encoded id', async () => {
  const { http, asked } = recordingHttp();
  const checks = createPreTradeChecks({ http, baseUrl: BASE });
  await checks.list(null, nothing, SIGNAL).catch(nothing);
  await checks.list('a+b=', nothing, SIGNAL).catch(nothing);
  await checks.single('a/../b?c', nothing, SIGNAL).catch(nothing);
  const [first, second, single] = asked;
  assert.deepEqual(first, { path: '/v1/pretradechecks', query: [] });
  assert.deepEqual(second, { path: '/v1/pretradechecks', query: [['since', 'a+b=']] });
  assert.equal(single?.path, '/v1/pretradechecks/id/a%2F..%2Fb%3Fc');
  assert.equal(single?.endpoint, '/v1/pretradechecks/id/{id}');
});

test('the event type narrows the stream and not the list, and stands in the filter', async () => {
  const { http, asked } = recordingHttp();
  const filter = { scope: 'my', legalCountry: 'CH', eventType: 'newissue' } as const;
  const referenceData = createReferenceData({ http, baseUrl: BASE, filter });
  await referenceData.events({ since: '1-0', maxEvents: 5 }, nothing, SIGNAL).catch(nothing);
  await referenceData.instruments({ minId: null, limit: 1 }, nothing, SIGNAL).catch(nothing);
  assert.deepEqual(asked, [
    {
      path: '/v1/instruments/events/my',
      query: [
        ['since', '1-0'],
        ['maxEvents', '5'],
        ['legalCountry', 'CH'],
        ['eventType', 'newissue'],
      ],
    },
    {
      path: '/v1/instruments/my',
      query: [
        ['limit', '1'],
        ['legalCountry', 'CH'],
      ],
    },
  ]);
  assert.equal(filterText(filter), 'scope=my legalCountry=CH eventType=newissue');
  assert.equal(filterText({ scope: 'all', legalCountry: null }), 'scope=all');
});

const next = (link: unknown) => nextCheckOffset(new Map([['next', link]]), BASE);

test('an offset of checks may have any form but that of an address', () => {
  for (const [link, offset] of [
    ['/reference-data/v1/pretradechecks?since=1700000000000-3', '1700000000000-3'],
    ['?since=Zm9v%2B%2F%3D%3D', 'Zm9v+/=='],
    ['https://provider.example/x?since=abc&limit=5', 'abc'],
  ]) {
    assert.equal(next(link), offset);
  }
});

for (const [what, link] of Object.entries({
  'no link': undefined,
  null: null,
  'a number': 5,
  'no since': '/v1/pretradechecks?limit=5',
  'an empty since': '/v1/pretradechecks?since=',
  'two of them': '/v1/pretradechecks?since=a&since=b',
  'a control character': '/v1/pretradechecks?since=a%00b',
  'an address': '/v1/pretradechecks?since=https%3A%2F%2Ftrading.example%2Fcanary',
  'a long one': `/v1/pretradechecks?since=${'a'.repeat(257)}`,
  'another origin': 'https://evil.example/v1/pretradechecks?since=a',
})) {
  test(`a link with ${what} is refused, and nothing of its offset is quoted`, () => {
    assert.throws(
      () => next(link),
      (error) =>
        error instanceof ConnectorError && error.code === 'PROTOCOL_VIOLATION' && !error.message.includes('canary'),
    );
  });
}
