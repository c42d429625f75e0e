import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventStreamStart, nextInstrumentCursor, probableNextCursor } from '../../../src/provider/page-link.ts';

const BASE = 'https://reference.example/api';
const links = (next: unknown) => new Map<string, unknown>([['next', next]]);

test('the cursor is taken out of a relative link, beyond 2^53 too', () => {
  const next = '/v1/instruments?legalCountry=CH&minId=9007199254740993&limit=1000';
  assert.equal(nextInstrumentCursor(links(next), BASE), '9007199254740993');
});

test('only an explicit null or empty text ends the list', () => {
  assert.equal(nextInstrumentCursor(links(null), BASE), null);
  assert.equal(nextInstrumentCursor(links(''), BASE), null);
  assert.throws(() => nextInstrumentCursor(new Map(), BASE), { code: 'PROTOCOL_VIOLATION', message: /no links\.next/ });
});

const EVIL = ['//evil.example/v1/instruments', '\\\\evil.example\\x', '/\t/evil.example/x', 'https://evil.example/x'];
const LOGINS = ['https://user@reference.example/x', 'https://:secret@reference.example/x'];
const OTHERS = ['https://reference.example:8443/x', 'http://reference.example/x', ...LOGINS];
for (const link of [...EVIL, ...OTHERS].map((place) => `${place}?minId=1`)) {
  test(`a link to another origin is refused by name: ${JSON.stringify(link)}`, () => {
    assert.throws(() => nextInstrumentCursor(links(link), BASE), {
      code: 'PROTOCOL_VIOLATION',
      message: /another origin/,
    });
  });
}

for (const [what, link] of [
  ['a number', 7],
  ['an object', new Map()],
  ['no minId', '/v1/instruments?limit=3'],
  ['two of them', '/v1/instruments?minId=1&minId=2'],
  ['letters', '/v1/instruments?minId=12x'],
  ['more digits than an int64 has', `/v1/instruments?minId=${'9'.repeat(20)}`],
  ['a link of a megabyte', `/v1/instruments?minId=1&x=${'a'.repeat(1_000_000)}`],
] as const) {
  test(`a next link with ${what} is a protocol violation that quotes no value`, () => {
    assert.throws(
      () => nextInstrumentCursor(links(link), BASE),
      (error: Error & { code?: string }) => error.code === 'PROTOCOL_VIOLATION' && error.message.length < 300,
    );
  });
}

test('the start of the event stream is an offset of two numbers', () => {
  const events = (link: unknown) => eventStreamStart(new Map([['events', link]]), BASE);
  assert.equal(events('/v1/instruments/events?since=1737000000000-42'), '1737000000000-42');
  assert.throws(() => events('/v1/instruments/events?since=abc'), { code: 'PROTOCOL_VIOLATION' });
  assert.throws(() => events(null), { code: 'PROTOCOL_VIOLATION', message: /null as links\.events/ });
});

test('the edges of a body say what its next page will probably be', () => {
  const edges = (first: string, last: string) => ({ first: Buffer.from(first), last: Buffer.from(last) });
  const next = '"links":{"next":"/v1/instruments?limit=1000&minId=9007199254740993","events":"…"}}';
  assert.equal(probableNextCursor(edges('{"instruments":[', `"a":1}],${next}`), BASE), '9007199254740993');
  const beyondSafe = probableNextCursor(edges(`{${next.slice(0, -1)},"instruments":[`, '"a":1}]}'), BASE);
  assert.equal(beyondSafe, '9007199254740993');
  assert.equal(probableNextCursor(edges('', '"next" : "\\/v1\\/instruments?minId=7"}}'), BASE), '7');
  for (const end of [
    '"links":{"next":null}}',
    '"links":{}}',
    '"next":"https://evil.example/?minId=1"}',
    '"next":"/?minId=x"}',
  ])
    assert.equal(probableNextCursor(edges('{"instruments":[', end), BASE), null, end);
});
