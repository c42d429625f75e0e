import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowTexts, startProvider } from './provider-client.ts';

const CHECKS = '/reference-data/v1/pretradechecks';
const ID = '1000001';

test('each check is served once, in order, as the ledger has it', async (t) => {
  const provider = await startProvider(t);
  const first = await provider.get(CHECKS);
  assert.deepEqual(first.json.preTradeChecks, []);
  for (let count = 0; count < 130; count++) provider.simulator.triggerCheck(ID);
  const texts: string[] = [];
  let next: string = first.json.links.next;
  for (let polls = 0; polls < 4; polls++) {
    const answer = await provider.get(next);
    texts.push(...rowTexts(answer.text));
    next = answer.json.links.next;
  }
  assert.deepEqual(
    texts,
    [...provider.simulator.ledger.checks()].map(({ text }) => text),
  );
  assert.equal(new Set(texts).size, 130);
  assert.equal(rowTexts((await provider.get(CHECKS)).text).length, 100, 'The first call has no since.');
});

test('a check has every field of the interface', async (t) => {
  const provider = await startProvider(t);
  const preTradeCheckId = provider.simulator.triggerCheck(ID);
  const { json } = await provider.get(`${CHECKS}/id/${preTradeCheckId}`);
  assert.deepEqual(Object.keys(json), ['preTradeCheckId', 'simulationUrl', 'instrument', 'indicativeTrades']);
  assert.deepEqual(
    Object.entries(json.indicativeTrades[0]).map(([name, value]) => [name, typeof value]),
    [
      ['preTradeCheckId', 'string'],
      ['quantity', 'number'],
      ['volume', 'number'],
      ['volumeNet', 'number'],
      ['reference', 'string'],
    ],
  );
  assert.equal(json.instrument.id, Number(ID));
  assert.ok(URL.canParse(json.simulationUrl));
});

test('a single check is wrapped when asked to, and an unknown one gets 404', async (t) => {
  const provider = await startProvider(t, { wrappedCheck: true });
  const preTradeCheckId = provider.simulator.triggerCheck(ID);
  const { json } = await provider.get(`${CHECKS}/id/${preTradeCheckId}`);
  assert.equal(json.preTradeCheck.preTradeCheckId, preTradeCheckId);
  assert.equal((await provider.get(`${CHECKS}/id/none`)).status, 404);
  assert.equal((await provider.get(`${CHECKS}?since=later`)).status, 400);
});

test('checks can be published as raw text, and come with time when the universe lives', async (t) => {
  const provider = await startProvider(t, { checkShare: 0.5 });
  provider.simulator.triggerCheck(ID, '{"preTradeCheckId":7}');
  provider.simulator.change(50);
  const rows = rowTexts((await provider.get(CHECKS)).text);
  assert.equal(rows[0], '{"preTradeCheckId":7}');
  assert.ok(rows.length > 5);
});
