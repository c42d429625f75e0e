import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '../../../../../src/dev/simulator/faults/fault.ts';
import { type ProviderClient, rowTexts, startProvider } from '../provider-client.ts';

const LIST = '/reference-data/v1/instruments?limit=5';

async function struck(t: import('node:test').TestContext, fault: Fault): Promise<ProviderClient> {
  const provider = await startProvider(t, { auth: false });
  provider.simulator.injectFaults([{ match: 'instruments', fault }]);
  return provider;
}

test('links can be missing, end, loop, fall, leave the origin and lose their form', async (t) => {
  const provider = await startProvider(t, { auth: false });
  const second = (await provider.get(LIST)).json.links.next as string;
  const own = new URL(second, provider.simulator.url).searchParams.get('minId');
  const ask = async (how: Extract<Fault, { kind: 'links' }>['how'], url?: string) => {
    await provider.get(LIST);
    provider.simulator.injectFaults([{ match: 'instruments', fault: { kind: 'links', how, ...(url && { url }) } }]);
    return (await provider.get(second)).json.links;
  };
  assert.equal(await ask('missing'), undefined);
  assert.equal((await ask('end')).next, null);
  assert.equal((await ask('same')).next, second);
  assert.equal((await ask('back')).next, LIST);
  assert.equal((await ask('lower')).next, second.replace(own ?? '', '1'));
  assert.ok(new URL((await ask('form')).next, provider.simulator.url).searchParams.get('minId') === 'not an offset');
  assert.equal((await ask('url', '//evil.example/x?minId=1')).next, '//evil.example/x?minId=1');
  assert.equal((await ask('number')).next, 12_345);
  assert.match((await ask('end')).events, /since=/, 'The other links stay.');
});

test('rows can come twice, again, in falling order or not at all', async (t) => {
  const provider = await startProvider(t, { auth: false });
  const first = await provider.get(LIST);
  const second = rowTexts((await provider.get(first.json.links.next)).text);
  const ask = async (how: Extract<Fault, { kind: 'rows' }>['how']) => {
    await provider.get(LIST);
    provider.simulator.injectFaults([{ match: 'instruments', fault: { kind: 'rows', how } }]);
    return rowTexts((await provider.get(first.json.links.next)).text);
  };
  assert.deepEqual(await ask('previous'), rowTexts(first.text));
  assert.deepEqual(await ask('none'), []);
  assert.deepEqual(await ask('descending'), second.toReversed());
  assert.deepEqual(
    await ask('twice'),
    second.flatMap((row) => [row, row]),
  );
});

test('rows are poisoned at their places, all others keep every byte, and the ledger names them', async (t) => {
  const poisons = [
    [{ edit: [{ pointer: '/issuePrice', value: '"a word"' }] }, /"issuePrice":"a word"/],
    [{ edit: [{ pointer: '/id' }] }, /^\{"name"/],
    [
      { edit: [{ pointer: '/underlyings/0/delta', value: '1234567890123456789012345' }] },
      /"delta":1234567890123456789012345,/,
    ],
    [{ edit: [{ pointer: '/brandNew', value: '{"a":1.0}' }] }, /"brandNew":\{"a":1\.0\}\}$/],
    [{ capitalised: true }, /^\{"Id":\d+,"Name"/],
    [{ text: 'null' }, /^$/],
  ] as const;
  for (const [how, expected] of poisons) {
    const provider = await struck(t, { kind: 'poison', rows: [1], how });
    const rows = rowTexts((await provider.get(LIST)).text);
    const clean = rowTexts((await provider.get(LIST)).text);
    const isRow = rows.length === clean.length;
    assert.match(isRow ? (rows[1] ?? '') : '', expected);
    assert.deepEqual(
      rows.filter((row) => clean.includes(row)),
      clean.filter((_, at) => at !== 1),
    );
    assert.deepEqual([...provider.simulator.ledger.poisonedIds()], [String(JSON.parse(clean[1] ?? '').id)]);
  }
});

test('a poisoned row can be larger than any broker takes', async (t) => {
  const provider = await struck(t, { kind: 'poison', rows: [0], how: { extraBytes: 5_000_000 } });
  const { json, body } = await provider.get(LIST);
  assert.ok(body.length > 5_000_000);
  assert.equal(json.instruments[0].padding.length, 5_000_000);
});

test('a share of rows is poisoned, the same rows in every answer', async (t) => {
  const provider = await startProvider(t, { auth: false, instruments: 200 });
  const how = { edit: [{ pointer: '/name', value: '7' }] };
  provider.simulator.injectFaults([{ match: 'instruments', count: 0, fault: { kind: 'poison', share: 0.2, how } }]);
  const poisoned = async (query: string) =>
    rowTexts((await provider.get(`/reference-data/v1/instruments?${query}`)).text).filter((row) =>
      row.includes('"name":7,'),
    );
  const first = await poisoned('limit=200');
  assert.ok(first.length > 20 && first.length < 65, `${first.length} of 200 rows are poisoned.`);
  assert.deepEqual(
    await poisoned('limit=199'),
    first.filter((row) => !row.startsWith('{"id":9007199254740997')),
  );
});

test('an event can come without its instrument', async (t) => {
  const provider = await startProvider(t, { auth: false });
  const start = (await provider.get(LIST)).json.links.events;
  provider.simulator.publish({ kind: 'datachange' });
  const how = { edit: [{ pointer: '/instrument' }] };
  provider.simulator.injectFaults([{ match: 'events', fault: { kind: 'poison', rows: [0], how } }]);
  assert.deepEqual(Object.keys((await provider.get(start)).json.events[0]), ['event']);
});
