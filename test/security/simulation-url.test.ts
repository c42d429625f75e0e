import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../../src/dev/simulator/faults/fault.ts';
import { logLines } from '../support/connectors/connector-command.ts';
import { testInstallation } from '../support/connectors/installation.ts';
import { streamAtRest } from '../support/connectors/stream-source.ts';
import { eventually } from '../support/runner/eventually.ts';

const DAY_MS = 86_400_000;
const CANARY = 'canary4f1c9d';
const URL_TEXT = `https://trading.example.com/simulate/${CANARY}?ticket=${CANARY}`;
const SOURCE = { name: 'checks', type: 'pre-trade-checks', topic: 'pre-trade-checks' } as const;

/** Checks of which some do not map, in every place where a mapping fails. */
const CHECKS = [
  `{"preTradeCheckId":"good","simulationUrl":"${URL_TEXT}","again":{"url":"${URL_TEXT}"}}`,
  `{"preTradeCheckId":"list","simulationUrl":["${URL_TEXT}"]}`,
  `{"preTradeCheckId":"trades","simulationUrl":"${URL_TEXT}","indicativeTrades":"${URL_TEXT}"}`,
  `{"preTradeCheckId":"volume","simulationUrl":"${URL_TEXT}","indicativeTrades":[{"volume":"${URL_TEXT}"}]}`,
  `{"preTradeCheckId":"instrument","simulationUrl":"${URL_TEXT}","instrument":{"id":"${URL_TEXT}"}}`,
  `{"preTradeCheckId":["${URL_TEXT}"],"simulationUrl":"${URL_TEXT}"}`,
  `{"simulationUrl":"${URL_TEXT}"}`,
  `"${URL_TEXT}"`,
  `{"preTradeCheckId":"huge","simulationUrl":"${URL_TEXT}","more":"${'x'.repeat(600_000)}"}`,
];

const BAD_ANSWERS: readonly Fault[] = [
  { kind: 'cutJson' },
  { kind: 'body', body: `{"preTradeChecks":[{"simulationUrl":"${URL_TEXT}",,` },
  { kind: 'body', body: `{"preTradeChecks":"${URL_TEXT}","links":{"next":"/x?since=1"}}` },
  { kind: 'body', body: `<html>${URL_TEXT}</html>`, contentType: 'text/html' },
  { kind: 'links', how: 'url', url: `/v1/pretradechecks?since=${URL_TEXT}` },
  { kind: 'links', how: 'missing' },
  { kind: 'status', status: 503, body: `{"title":"busy","detail":"${URL_TEXT}"}`, contentType: 'application/json' },
];

const SCENE = {
  simulator: { instruments: 3 },
  source: { name: SOURCE.name, type: SOURCE.type, gapProof: '1s' },
  env: { LOG_LEVEL: 'debug' },
};

testInstallation('the URL of a pre-trade check stands in its topic and nowhere else', SCENE, async (_t, at) => {
  const { simulator } = at;
  for (const raw of CHECKS) simulator.triggerCheck('1000001', raw);
  // A good answer between two bad ones, so that no wait grows.
  simulator.injectFaults(BAD_ANSWERS.map((fault, index) => ({ match: 'pre-trade-checks', nth: 2 * index + 1, fault })));
  const connector = await at.startCommand();
  await connector.line('stream committed');
  const failed = () => logLines(connector).filter(({ msg }) => msg === 'attempt failed, trying again');
  await eventually('the bad answers are refused', failed, ({ length }) => length >= BAD_ANSWERS.length);

  // A gap is suspected, so that there is a notification too.
  connector.child.kill('SIGTERM');
  await connector.ended;
  simulator.advanceClock(8 * DAY_MS);
  simulator.triggerCheck('1000001', `{"preTradeCheckId":"later","simulationUrl":["${URL_TEXT}"]}`);
  const again = await at.startCommand();
  await again.line('notification written');
  await pause(300);
  again.child.kill('SIGTERM');
  await again.ended;

  const { records, deadLetters, notifications, offsets } = await streamAtRest(at, SOURCE);
  const [good, ...others] = records.flat();
  const keys = others.map(({ key }) => String(key));
  assert.deepEqual(keys, []);
  assert.ok(good?.value?.includes(CANARY), 'the topic itself has it');
  assert.equal(String(good?.key), 'good');
  assert.equal(failed().length, BAD_ANSWERS.length);
  assert.equal(notifications.length, 1);

  const letters = deadLetters.map(({ key, value, headers }) => [key && String(key), value, headers['spc-pointer']]);
  assert.deepEqual(letters, [
    ['list', null, '/simulationUrl'],
    ['trades', null, '/indicativeTrades'],
    ['volume', null, '/indicativeTrades/0/volume'],
    ['instrument', null, '/instrument/id'],
    [null, null, '/preTradeCheckId'],
    [null, null, '/preTradeCheckId'],
    [null, null, ''],
    ['huge', null, ''],
    ['later', null, '/simulationUrl'],
  ]);
  const aside = [...(await at.read('dead-letters')), ...(await at.read('notifications'))];
  const written = [...aside, ...records.flat().map(({ key, headers }) => ({ key, headers, value: null }))];
  for (const { key, value, headers } of written) {
    const text = `${key}${value}${JSON.stringify(headers)}`;
    assert.ok(!text.includes(CANARY), text);
    assert.ok(!text.includes('trading.example.com'), text);
  }
  assert.ok(!JSON.stringify(offsets).includes(CANARY));
  const output = [...connector.lines, ...again.lines].join('\n');
  assert.ok(output.length > 1_000 && !output.includes(CANARY), output);
});
