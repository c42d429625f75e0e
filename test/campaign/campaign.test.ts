import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { stackOrSkip } from '../support/kafka/stack.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';
import { type ConnectorLog, findingsOf } from './oracle.ts';
import { tableOf } from './report.ts';
import { runCampaign } from './run.ts';
import { createSampling } from './trends.ts';
import { Violation } from './violation.ts';

/** A campaign of one connector with two replicas against the stack of the tests. */
async function shortCampaign(
  t: TestContext,
  own: Pick<Parameters<typeof runCampaign>[0], 'seed' | 'faults' | 'kills' | 'rounds' | 'observe' | 'onVerified'>,
  said: string[] = [],
) {
  const stack = await stackOrSkip(t);
  if (!stack) return undefined;
  const folder = temporaryFolder(t);
  const { brokers, registryUrl } = stack;
  return runCampaign({
    ground: { brokers, registryUrl, proxies: [], stop: async () => undefined },
    command: 'npm test',
    connectors: 1,
    minutes: 20,
    roundsPerLife: 3,
    folder,
    subject: { instruments: 60, changesPerSecond: 10, priceRefresh: '20s', sessionTimeout: '2s' },
    signal: t.signal,
    say(line) {
      said.push(line);
      t.diagnostic(line);
    },
    ...own,
  });
}

test('a campaign of a few kills loses nothing and doubles nothing, and ends at what is then spoiled', async (t) => {
  const logs: ConnectorLog[] = [];
  // Only what was verified comes here. Without its first event it is a log of a connector that has lost one.
  const onVerified = (log: ConnectorLog) => {
    logs.push(log);
    const { universe } = log;
    const spoiled = { ...log, universe: { ...universe, events: universe.events.slice(1) } };
    const lost = findingsOf(spoiled).filter(({ kind }) => kind === 'lost');
    throw new Violation('the connector', lost.slice(0, 1));
  };
  const said: string[] = [];
  const report = await shortCampaign(t, { seed: 3, faults: ['kill', 'step'], kills: 2, rounds: 2, onVerified }, said);
  if (!report) return;
  assert.ok(report.totals.kills >= 2);
  assert.equal(report.totals.verified.connectors, 1);
  const violations = report.violation?.findings.map(({ kind }) => kind);
  assert.deepEqual(violations, ['lost']);
  assert.match(tableOf(report.rows), /\| kill -9 .* \| 1 \| 0 \| 0 \| 0 \| 0 \| .* s \|/);
  const { rounds } = report.totals;
  const says = new RegExp(`^VIOLATION in round ${rounds}, \\{"number":${rounds},.*\nthe connector: lost: `);
  assert.match(said.at(-1) ?? '', says);
  assert.deepEqual([report.command, report.seed], ['npm test', 3], 'what is needed to see it again');
  const [log] = logs;
  assert.ok(log && log.universe.events.length > 5 && log.prices.results.length > 5);
  assert.deepEqual(findingsOf(log), []);
  const { universe, prices } = log;
  const { events, instruments } = universe;
  const kinds = (spoiled: Partial<ConnectorLog>) => findingsOf({ ...log, ...spoiled }).map(({ kind }) => kind);
  assert.ok(kinds({ universe: { ...universe, events: [...events, ...events.slice(-1)] } }).includes('twice'));
  assert.ok(
    kinds({ universe: { ...universe, instruments: [...instruments, ...instruments.slice(-1)] } }).includes('twice'),
  );
  // A record further on can stand for an earlier one of the same instrument.
  const answered = prices.results.find(({ answers }) => answers !== null)?.id;
  const others = prices.results.filter(({ id }) => id !== answered);
  assert.ok(kinds({ prices: { ...prices, results: others } }).includes('lost'));
});

test('a short soak comes to rest, and has its slopes', async (t) => {
  const sampling = createSampling(0.1);
  const report = await shortCampaign(t, {
    // Names its topics: those of a violation are left.
    seed: 4,
    faults: ['provider'],
    kills: Number.POSITIVE_INFINITY,
    rounds: 1,
    observe: sampling.observe,
  });
  if (!report) return;
  assert.equal(report.violation, null);
  const trends = sampling.trends();
  const measures = [...new Set(trends.map(({ measure }) => measure))];
  assert.deepEqual(measures, ['rssMiB', 'heapMiB', 'sockets', 'timers', 'handles']);
  assert.ok(trends.every(({ first }) => first > 0));
});
