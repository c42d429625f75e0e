import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { runDemo } from '../../src/dev/demo/demo.ts';
import { pythonWith } from '../support/decoding/python-environment.ts';
import { stackOrSkip } from '../support/kafka/stack.ts';
import { onceRight } from '../support/ledgers/prices-on-topics.ts';
import { collector, runWith } from '../unit/commands/shell/terminal.ts';

const INSTRUMENTS = 60;
const root = resolve(import.meta.dirname, '../..');
const FRESHNESS =
  /^ *(\d+) of (\d+) priced · age p50 [\d.]+ s, p99 [\d.]+ s, max [\d.]+ s · \d+ overdue · failing: .+ · \d+ items\/s in [\d.]+ calls\/s$/m;
/** Isin, name, bid, ask, and when it was observed. */
const ROW = /^ *[A-Z]{2}[A-Z0-9]{9}\d {2}\S.* {2}\d+\.?\d* {2,}\d+\.?\d* {2,}\d\d:\d\d:\d\d(?: +pulled)?$/gm;

function written() {
  const { stream, text } = collector();
  return Object.assign(stream, { text });
}

test('the demo ends with every product priced, a table of some and how fresh all are, which goes on until it is stopped', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const [stdout, stderr, stop] = [written(), written(), new AbortController()];
  const env = {
    ...process.env,
    KAFKA_BROKERS: stack.brokers.join(','),
    SCHEMA_REGISTRY_URL: stack.registryUrl,
    // As in a shell that is set up for a real provider.
    TOPIC_PREFIX: 'structured-products',
    CLIENT_SECRET_FILE: '/run/secrets/client',
  };
  const demo = runDemo({ env, stdout, stderr, signal: stop.signal, once: false, instruments: INSTRUMENTS });
  demo.catch(() => {});
  t.after(async () => {
    stop.abort(new Error('the test has ended'));
    await demo.catch(() => {});
  });
  const parts = () => stdout.text().split('The provider now changes its instruments, until Ctrl-C');
  await onceRight(() =>
    FRESHNESS.test(parts()[1] ?? '') ? null : `no prices flow yet:\n${stdout.text()}${stderr.text()}`,
  );
  // As a shell would take them.
  const exported = [...stdout.text().matchAll(/^ {2}export (.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  const shell = Object.fromEntries(exported.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
  const tailed = await runWith(['tail', 'prices', '--from-beginning', '--limit', '1', '--output', 'json'], {
    env: shell,
  });
  assert.equal(tailed.code, 0, tailed.stderr);
  assert.match(JSON.parse(tailed.stdout).topic, /^demo-.*\.prices$/);
  await onceRight(async () => {
    const { code, stdout: why } = await runWith(['status'], { env: shell });
    return code === 0 ? null : why;
  });
  const [, printed = ''] = /^ {2}python3 (.*\\\n.*)$/m.exec(stdout.text()) ?? assert.fail('no line of Python');
  const [, packages = ''] =
    /^python3 -m pip install '(.+)'$/m.exec(readFileSync(resolve(root, 'schemas/README.md'), 'utf8')) ?? assert.fail();
  const python = await pythonWith([packages]);
  if (python === null) t.diagnostic('no python3 with these packages can be had here: the line of Python was not run');
  else {
    const options = { cwd: root, env: { ...process.env, ...shell }, timeout: 600_000 };
    const read = await promisify(execFile)('sh', ['-c', `exec "$0" ${printed}`, python], options);
    assert.ok(read.stdout.trim().split('\n').length >= INSTRUMENTS, read.stdout);
  }
  const curls = [...stdout.text().matchAll(/^ {2}curl -X (PUT) -H '(\w+): (.+)' \\\n *(http\S+)$/gm)];
  assert.equal(curls.length, 2);
  for (const [, method = '', name = '', value = '', url = ''] of curls)
    assert.equal((await fetch(url, { method, headers: { [name]: value } })).status, 202, url);
  stop.abort(new Error('the test stops it'));
  assert.equal(await demo, true);

  const [summary = '', live = ''] = parts();
  assert.match(summary, /^The newest prices of some products:$/m);
  assert.match(summary, /^ {2}\S+\.prices +\d+$/m);
  // One at least was triggered by a user of the simulated provider.
  assert.match(stdout.text(), /pre-trade check: \d+ triggered by a user/);
  assert.match(summary, /^ {2}\S+\.pre-trade-checks +\d+$/m);
  for (const shown of [summary, live]) {
    assert.ok((shown.match(ROW) ?? []).length >= 5, shown);
    assert.match(shown, FRESHNESS);
  }
  assert.deepEqual(FRESHNESS.exec(summary)?.slice(1), [String(INSTRUMENTS), String(INSTRUMENTS)]);
});

test('the demo that ends prints no address: what it started is gone by then', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const [stdout, stderr] = [written(), written()];
  const env = { ...process.env, KAFKA_BROKERS: stack.brokers.join(','), SCHEMA_REGISTRY_URL: stack.registryUrl };
  const { signal } = new AbortController();
  assert.equal(await runDemo({ env, stdout, stderr, signal, once: true, instruments: 5 }), true);
  assert.match(stdout.text(), FRESHNESS);
  assert.doesNotMatch(stdout.text(), /https?:|export |curl /);
});
