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
