import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import { closingOf } from '../../campaign/closing.ts';
import type { Report } from '../../campaign/report.ts';
import type { Trend } from '../../campaign/trends.ts';

const root = resolve(import.meta.dirname, '../../..');
const COMMAND = 'npm run campaign -- --seed 7';
const good: Report = {
  command: COMMAND,
  seed: 7,
  startedAt: '2026-01-01T00:00:00.000Z',
  load: [0.5, 2],
  totals: {
    kills: 3,
    brokerKills: 0,
    forgottenCommits: 0,
    skippedMarkers: 0,
    rebalances: 0,
    requestsHit: 0,
    rounds: 3,
    minutes: 1,
    verified: { connectors: 2, events: 90, instruments: 120, prices: 120 },
  },
  rows: [],
  violation: null,
};
const bad: Report = { ...good, violation: { connector: 'x', findings: [{ kind: 'lost', text: 'event 5' }] } };
const holds: Trend = { process: 'x', measure: 'timers', first: 9, last: 9, perMinute: 0, bound: 1, isLeak: false };
const leaks: Trend = { ...holds, last: 200, perMinute: 8, isLeak: true };

const outcomes: readonly (readonly [what: string, report: Report, trends: readonly Trend[], exitCode: 0 | 1])[] = [
  ['a campaign that finds nothing', good, [], 0],
  ['a campaign with a violation', bad, [], 1],
  ['a soak that finds nothing', good, [holds, holds], 0],
  ['a soak with a leak alone', good, [holds, leaks, holds], 1],
  ['a soak with a violation alone', bad, [holds], 1],
];
for (const [what, report, trends, exitCode] of outcomes) {
  test(`${what} ends with ${exitCode}${exitCode === 1 ? ' and the command that shows it again' : ''}`, () => {
    const closing = closingOf(report, trends, { logs: '/logs', kafkaFolder: '/logs/kafka' });
    assert.equal(closing.exitCode, exitCode);
    const data = report.violation === null ? [] : ['The data and logs of Kafka: /logs/kafka'];
    const last = [`To see it again: ${COMMAND}`, 'The logs of all replicas: /logs', ...data];
    if (exitCode === 1) assert.deepEqual(closing.lines.slice(-last.length), last);
    else assert.doesNotMatch(closing.lines.join('\n'), /To see it again/);
    assert.ok(closing.lines.includes('load 0.5 to 2.0, seed 7'));
    assert.equal(closing.lines.join('\n').includes('| leak |'), trends.length > 0);
  });
}

/** Kafka that is nothing but its folder. */
const GROUND = `
  import { mkdirSync } from 'node:fs';
  export async function startGround(brokers, dataFolder) {
    mkdirSync(dataFolder);
    return { stop: async () => console.log('Kafka was stopped') };
  }
`;
/** In place of Kafka and of the rounds: a report that the program is to end with, under the command that it was given. */
const doubles = (report: Report, first = '') => `
  import { registerHooks } from 'node:module';
  const sources = {
    'ground.ts': ${JSON.stringify(GROUND)},
    'run.ts': ${JSON.stringify(`export async function runCampaign({ command, signal }) { ${first} return { ...${JSON.stringify(report)}, command }; }`)},
  };
  registerHooks({ load(url, context, next) {
    const source = sources[url.split('/test/campaign/')[1]];
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
  } });
`;

for (const program of ['campaign', 'soak']) {
  for (const [report, exitCode] of [[good, 0] as const, [bad, 1] as const]) {
    test(`npm run ${program} ends with ${exitCode} ${exitCode === 1 ? 'at' : 'without'} a violation`, (t) => {
      const logs = mkdtempSync(join(tmpdir(), 'closing-'));
      t.after(() => rmSync(logs, { recursive: true }));
      const preload = ['--import', `data:text/javascript,${encodeURIComponent(doubles(report))}`];
      const args = [...preload, `test/campaign/${program}.ts`, '--seed', '7', '--logs', logs];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
      assert.equal(status, exitCode, stderr);
      const again = `To see it again: npm run ${program} -- --seed 7 --logs ${logs}\nThe logs of all replicas: ${logs}\n`;
      assert.equal(stdout.includes(again), exitCode === 1, stdout);
      assert.ok(stdout.endsWith('Kafka was stopped\n'), stdout);
      // What Kafka kept is gone, but for a violation, which names where it is.
      const kept = /^The data and logs of Kafka: (.*)$/m.exec(stdout)?.[1];
      assert.deepEqual(readdirSync(logs), exitCode === 1 ? [basename(kept ?? '')] : []);
    });
  }
}

test('Ctrl-C, which comes twice below npm, ends a campaign in good order', async (t) => {
  const logs = mkdtempSync(join(tmpdir(), 'closing-'));
  t.after(() => rmSync(logs, { recursive: true }));
  const untilAborted = `
    console.log('runs');
    await new Promise((resolve) => {
      const alive = setInterval(() => {}, 1_000);
      // The second signal comes while the first one is still worked on.
      signal.addEventListener('abort', () => setTimeout(() => resolve(clearInterval(alive)), 500));
    });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(doubles(good, untilAborted))}`];
  const args = [...preload, 'test/campaign/campaign.ts', '--logs', logs];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for await (const chunk of child.stdout) {
    if (output === '') {
      child.kill('SIGINT');
      setTimeout(() => child.kill('SIGINT'), 100);
    }
    output += chunk;
  }
  if (child.exitCode === null) await once(child, 'exit');
  assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
  assert.ok(output.endsWith('Kafka was stopped\n'), output);
});

for (const program of ['campaign/campaign', 'campaign/soak', 'bench/bench']) {
  test(`${program}.ts shows its options, and says what is wrong with one in a line`, () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [`test/${program}.ts`, ...args], { cwd: root, encoding: 'utf8' });
    const help = run('--help');
    assert.equal(help.status, 0);
    assert.match(help.stdout, /^Usage: npm run \w+ -- \[options\]\n/);
    const wrong = run(program === 'bench/bench' ? '--walk' : '--faults', 'many');
    assert.equal(wrong.status, 1);
    assert.match(
      wrong.stderr,
      /^error: option .* 'many' is invalid\. (Expected a whole number|"many" is none of .*)\.\n$/,
    );
  });
}
