import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Eyes, openEyes, type Watch } from './eyes.ts';
import type { Ground } from './ground.ts';
import { type ConnectorLog, findingsOf } from './oracle.ts';
import { drawRounds, FAULTS, type FaultName, type Round } from './plan.ts';
import { compileProgram, type Replica } from './replica.ts';
import { rowsOf } from './report.ts';
import { type Struck, strike } from './strike.ts';
import { openSubject, STUCK_MS, type Subject, type SubjectOptions } from './subject.ts';
import { type Finding, Violation } from './violation.ts';

const stuck = (text: string): Finding => ({ kind: 'stuck', text });
const LOOK_EVERY_MS = 2_000;

/**
 * Lets a connector come to rest, stops it, and compares its topics with the provider's ledger. The provider has stopped
 * changing, and nothing disturbs.
 *
 * @throws Violation with all that is wrong
 */
async function settle(subject: Subject, eyes: Eyes, watch: Watch): Promise<ConnectorLog> {
  subject.stopChanging();
  await until(subject, async () => {
    const missing = await watch.missing();
    // What was skipped is found while the others come: these are behind all that is there.
    return missing > 0 ? [{ kind: 'stuck', text: `${missing} events have not come yet` }] : [];
  });
  // What has vanished is deleted by the next walk; prices follow.
  await until(subject, async () => {
    const log = await eyes.read(subject, false);
    const waiting = unanswered(log);
    if (waiting > 0) return [{ kind: 'stuck', text: `${waiting} records of instruments wait for their price` }];
    return findingsOf(log);
  });
  const ill = await stopAll(subject.replicas());
  if (ill.length > 0) throw new Violation(subject.name, ill);
  let log: ConnectorLog | undefined;
  await until(subject, async () => {
    log = await eyes.read(subject, true);
    return findingsOf(log);
  });
  if (log === undefined) throw new Error('unreachable');
  return log;
}

/**
 * Looks again until nothing is wrong any more: the last transactions become visible partition by partition, and a busy
 * broker may not answer.
 */
async function until(subject: Subject, look: () => Promise<Finding[]>): Promise<void> {
  const deadlineMs = performance.now() + STUCK_MS;
  for (;;) {
    const findings = await look().catch((error: unknown) => [{ kind: 'stuck' as const, text: `not read: ${error}` }]);
    if (findings.length === 0) return;
    subject.assertWell();
    if (performance.now() > deadlineMs) throw new Violation(subject.name, findings);
    await sleep(LOOK_EVERY_MS);
  }
}

function unanswered({ prices: { inputs, committed } }: ConnectorLog): number {
  return inputs.filter(({ partition, offset }) => offset >= (committed.get(partition) ?? 0)).length;
}

/** Asks each to stop: it must end in time, and well. */
async function stopAll(replicas: readonly Replica[]): Promise<Finding[]> {
  for (const replica of replicas) replica.signal('SIGTERM');
  const ends = replicas.map(async ({ name, ended }): Promise<Finding[]> => {
    const end = await Promise.race([ended, sleep(STUCK_MS, null, { ref: false })]);
    if (end === null) return [stuck(`${name} was asked to stop, and has not within ${STUCK_MS / 1_000} s`)];
    return end.code === 0 ? [] : [stuck(`${name} was asked to stop, and ended with ${end.code}`)];
  });
  return (await Promise.all(ends)).flat();
}

interface CampaignOptions {
  readonly ground: Ground;
  readonly command: string;
  readonly seed: number;
  readonly faults: readonly FaultName[];
  readonly connectors: number;
  /** Processes of each connector; by default two and one in turn. */
  readonly replicas?: number | undefined;
  /** Ends with the round in which so many processes have been killed. */
  readonly kills: number;
  /** Begins no round after this time. */
  readonly minutes: number;
  /** At most so many rounds. */
  readonly rounds: number;
  /** After so many rounds the connectors are verified, and others take their place. */
  readonly roundsPerLife: number;
  readonly folder: string;
  readonly subject: Pick<SubjectOptions, 'instruments' | 'changesPerSecond' | 'priceRefresh' | 'sessionTimeout'>;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  /** Called when the connectors of a life run; gives what ends it. */
  readonly onVerified?: (log: ConnectorLog) => void;
  readonly observe?: (subjects: readonly Subject[]) => { readonly end: () => void };
}

/** Rows whose processes were killed. */
const KILLING = (['kill', 'step', 'heir', 'all', 'failover', 'spoil', 'topic', 'registry'] as const).map(
  (fault) => FAULTS[fault].says,
);

/** Faults, round after round, until enough has happened or something is wrong. */
export async function runCampaign(options: CampaignOptions) {
  const { ground, seed, faults, connectors, signal, say } = options;
  mkdirSync(options.folder, { recursive: true });
  const startedMs = Date.now();
  let round: Round | undefined;
  const load = [loadavg()[0] ?? 0];
  const struck: Struck[] = [];
  const found = new Map<string, readonly Finding[]>();
  const verified = { connectors: 0, events: 0, instruments: 0, prices: 0 };
  const minutes = () => (Date.now() - startedMs) / 60_000;
  const countOf = (rows: readonly string[]) =>
    struck.filter(({ row }) => rows.includes(row)).reduce((sum, { count }) => sum + count, 0);
  const isOver = () =>
    signal.aborted ||
    minutes() >= options.minutes ||
    countOf(KILLING) >= options.kills ||
    (round?.number ?? 0) >= options.rounds;
  const add = ({ universe, prices }: ConnectorLog) => {
    verified.connectors += 1;
    verified.events += universe.events.length;
    verified.instruments += universe.instruments.length;
    verified.prices += prices.results.length;
  };
  const rounds = drawRounds({ seed, faults, connectors, brokers: ground.brokers.length });
  await compileProgram();
  const eyes = await openEyes(ground);
  let violation: Pick<Violation, 'connector' | 'findings'> | null = null;
  try {
    for (let life = 1; !isOver(); life++) {
      await live(options, eyes, life, add, async (subjects, watches) => {
        for (let lived = 0; lived < options.roundsPerLife && !isOver(); lived++) {
          round = rounds.next().value;
          const results = await strike(round, ground, subjects, eyes.deleteTopics);
          struck.push(...results);
          const times = results.map(({ recoveryMs }) => (recoveryMs / 1_000).toFixed(1)).join(' ');
          const at = `${minutes().toFixed(1)} min, ${countOf(KILLING)} kills`;
          const hits = results.reduce((sum, result) => sum + (result.hits ?? 0), 0);
          const what = `${FAULTS[round.fault].says}${hits > 0 ? ` (${hits} requests)` : ''}`;
          say(`round ${round.number} (${at}): ${what}: recovered in ${times} s`);
          await inspect(subjects, watches);
        }
      });
    }
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = { connector: error.connector, findings: error.findings };
    found.set(round === undefined ? 'start' : FAULTS[round.fault].says, error.findings);
    say(`VIOLATION in round ${round?.number}, ${JSON.stringify(round)}\n${error.message}`);
  } finally {
    await eyes.close();
  }
  const totals = {
    kills: countOf(KILLING),
    brokerKills: countOf([FAULTS.broker.says, FAULTS.commit.says]),
    rebalances: countOf([FAULTS.storm.says]),
    // Cut, dropped, delayed, refused or answered wrongly.
    requestsHit: struck.reduce((sum, { hits = 0 }) => sum + hits, 0),
    rounds: round?.number ?? 0,
    minutes: Math.round(minutes() * 10) / 10,
    verified,
  };
  return {
    command: options.command,
    seed,
    startedAt: new Date(startedMs).toISOString(),
    // Of the machine, at the start and at the end, over one minute.
    load: [...load, loadavg()[0] ?? 0],
    totals,
    rows: rowsOf(struck, found),
    violation,
  };
}

/** The connectors from their start to their verification. */
async function live(
  options: CampaignOptions,
  eyes: Eyes,
  life: number,
  add: (log: ConnectorLog) => void,
  body: (subjects: readonly Subject[], watches: readonly Watch[]) => Promise<void>,
): Promise<void> {
  const { ground, seed, connectors, folder, say } = options;
  const subjects: Subject[] = [];
  const watches: Watch[] = [];
  try {
    for (let index = 0; index < connectors; index++) {
      const name = `campaign-${process.pid}-${seed}-${life}-${index + 1}`;
      // Every second one has a replica that waits.
      const { replicas = index % 2 === 0 ? 2 : 1 } = options;
      const own = { ground, name, replicas, seed: seed * 1_000 + life * 10 + index, folder };
      subjects.push(await openSubject({ ...own, ...options.subject }));
    }
    for (const subject of subjects) subject.restore();
    await Promise.all(subjects.map((subject) => subject.owner()));
    watches.push(...subjects.map((subject) => eyes.watch(subject)));
    const observation = options.observe?.(subjects);
    await body(subjects, watches);
    observation?.end();
    const logs = await Promise.all(subjects.map((subject, index) => settle(subject, eyes, watches[index] as Watch)));
    for (const log of logs) add(log);
    for (const log of logs) options.onVerified?.(log);
    say(
      `life ${life}: ${logs.map(({ universe }) => universe.events.length).join(' ')} events verified, nothing is wrong`,
    );
    // Topics that are left cost only space.
    for (const subject of subjects) await eyes.forget(subject).catch(() => undefined);
  } finally {
    for (const watch of watches) watch.close();
    await Promise.all(subjects.map((subject) => subject.close()));
  }
}

/** What can be seen while everything runs. */
async function inspect(subjects: readonly Subject[], watches: readonly Watch[]): Promise<void> {
  for (const [index, subject] of subjects.entries()) {
    subject.assertWell();
    const findings = [...((await watches[index]?.findings()) ?? []), ...(await askAll(subject.replicas()))];
    if (findings.length > 0) throw new Violation(subject.name, findings);
  }
}

/** Asks each: one that does not answer serves no probe either, and its partitions are only served since another one has them. */
async function askAll(replicas: readonly Pick<Replica, 'name' | 'usage'>[]): Promise<Finding[]> {
  const asked = await Promise.allSettled(replicas.map((replica) => replica.usage()));
  return asked.flatMap((answer) =>
    answer.status === 'rejected' ? [{ kind: 'stuck', text: `${answer.reason.message}` }] : [],
  );
}
