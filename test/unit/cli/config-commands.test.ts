import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { MINIMAL, settingsText } from '../config/settings-text.ts';
import { runWith } from './terminal.ts';

const SECRET = 'canary-0815';
const authenticated = settingsText({
  referenceData: `referenceData: { url: https://provider.example/api, auth: { type: bearer, token: ${SECRET} } }`,
});

test('the settings are printed as they are used, in both forms, without a secret', async (t) => {
  const file = await settingsFile(t, authenticated);
  const yaml = await runWith(['config', 'print', '--config', file]);
  const json = await runWith(['config', 'print', '--output', 'json', '--config', file]);
  assert.deepEqual([yaml.code, json.code, yaml.stderr, json.stderr], [0, 0, '', '']);
  assert.deepEqual(parse(yaml.stdout), JSON.parse(json.stdout));
  const printed = JSON.parse(json.stdout);
  assert.equal(printed.referenceData.auth.token, '[secret]');
  assert.equal(printed.sources[0].pollIntervalMs, 30_000);
  assert.ok(!`${yaml.stdout}${json.stdout}`.includes(SECRET));
});

test('settings that are right are said so', async (t) => {
  const file = await settingsFile(t, settingsText({}));
  const { code, stdout } = await runWith(['validate', '--config', file]);
  assert.deepEqual([code, stdout], [0, `${file}: ok; sources: instruments\n`]);
  const json = await runWith(['validate', '--output', 'json', '--config', file]);
  assert.deepEqual(JSON.parse(json.stdout), { ok: true, problems: [] });
});

test('everything that is wrong is data, a line each, with exit code 2', async (t) => {
  const file = await settingsFile(t, `${settingsText({ ...MINIMAL, log: 'log: { leve: info }' })}\nprefix: "a b"\n`);
  const { code, stdout } = await runWith(['validate', '--config', file]);
  assert.equal(code, 2);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /:4:8 log\.leve: unknown setting; did you mean level\?$/);
  assert.match(lines[1] ?? '', /:5:9 prefix: /);
  const json = await runWith(['validate', '--output', 'json', '--config', file]);
  assert.deepEqual([json.code, JSON.parse(json.stdout)], [2, { ok: false, problems: lines }]);
});
