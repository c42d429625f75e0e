import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
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
const doubles = (report: Report) => `
  import { registerHooks } from 'node:module';
  const sources = {
    'ground.ts': ${JSON.stringify(GROUND)},
    'run.ts': ${JSON.stringify(`export const runCampaign = async ({ command }) => ({ ...${JSON.stringify(report)}, command });`)},
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
