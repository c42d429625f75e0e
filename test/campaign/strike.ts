import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultRule } from '../../src/dev/simulator/faults/fault.ts';
import { seededRandom } from '../simulation/random.ts';
import { leaderOf } from '../support/kafka/kafka-wire-log.ts';
import type { KillMoment } from '../support/kafka/killing-kafka.ts';
import type { Ground } from './ground.ts';
import { type Draw, FAULTS, type FaultName, NETWORK, PROVIDER, type Round, SPOILS } from './plan.ts';
import type { Replica } from './replica.ts';
import type { Subject } from './subject.ts';
import { Violation } from './violation.ts';

/** What one fault did to one connector. */
export interface Struck {
  /** The row of the report. */
  readonly row: string;
  /** Processes killed, members that joined or left, brokers killed; else 1. */
  readonly count: number;
  /** How many requests a disturbance hit. */
  readonly hits?: number;
  readonly recoveryMs: number;
}

/** How long a fault lasts that only disturbs. */
const DISTURBED_MS = 5_000;
/** How long the markers of transactions are held at most; each connector commits once in that time. */
const HELD_MS = 2_000;
/** A process that is armed and does not come to its moment is killed where it is. */
const ARMED_LIMIT_MS = 10_000;

/** One round: strikes every connector, and resolves when all have recovered. */
export async function strike(
  round: Round,
  ground: Ground,
  subjects: readonly Subject[],
  deleteTopics: (topics: readonly string[]) => Promise<void>,
): Promise<Struck[]> {
  const each = async (how: (subject: Subject, draw: Draw) => Promise<Struck>) =>
    Promise.all(subjects.map((subject, index) => how(subject, round.draws[index] as Draw)));
  const { says: row } = FAULTS[round.fault];
  const ways: Readonly<Record<FaultName, () => Promise<Struck[]>>> = {
    kill: () => each((subject, draw) => killOnce(row, subject, draw)),
    step: () => each((subject, draw) => killOnce(row, subject, draw, draw.moment)),
    heir: () => each((subject, draw) => killWithSuccessor(row, subject, draw)),
    all: () => each((subject, draw) => killAll(row, subject, draw)),
    failover: () => each((subject, draw) => killBehind(row, round, subject, draw)),
    spoil: () => each((subject, draw) => killAmongSpoilers(row, subject, draw)),
    topic: () => each((subject, draw) => killAll(row, subject, draw, () => deleteTopics(topicsOf(subject)))),
    stop: () => each((subject, draw) => stop(row, subject, draw)),
    pause: () => each((subject, draw) => pause(row, subject, draw)),
    storm: () => each((subject, draw) => storm(row, subject, draw)),
    broker: () => killBroker(row, round, ground, subjects, async () => ({ broker: round.broker })),
    commit: () => killBroker(row, round, ground, subjects, () => afterCommit(round, ground, subjects)),
    network: () => disturb(row, ground.proxies.length > 0, subjects, () => cutOff(ground, round)),
    provider: () => disturb(row, true, subjects, () => refuse(subjects, PROVIDER[round.provider])),
    registry: () => withoutRegistry(ground, round, () => each((subject, draw) => killOnce(row, subject, draw))),
  };
  return ways[round.fault]();
}

/** `atStep`: the process came to the moment for which it was armed. */
async function kill(replica: Replica, moment?: KillMoment) {
  let atStep = false;
  if (moment !== undefined) {
    replica.arm(moment);
    await Promise.race([replica.ended, sleep(ARMED_LIMIT_MS)]);
    atStep = !replica.isRunning();
  }
  replica.signal('SIGKILL');
  const { atMs } = await replica.ended;
  return { atMs, atStep };
}

async function killOnce(row: string, subject: Subject, draw: Draw, moment?: KillMoment): Promise<Struck> {
  const owner = await subject.owner();
  await sleep(draw.waitMs);
  const { atMs, atStep } = await kill(owner, moment);
  subject.restore();
  const own = moment === undefined || atStep ? row : FAULTS.kill.says;
  return { row: own, count: 1, recoveryMs: (await subject.nextCommit(atMs)) - atMs };
}

async function killWithSuccessor(row: string, subject: Subject, draw: Draw): Promise<Struck> {
  const owner = await subject.owner();
  await sleep(draw.waitMs);
  await kill(owner, draw.moment);
  const successor = subject.replicas()[0] ?? subject.start();
  const { atMs } = await kill(successor, draw.successorMoment);
  subject.restore();
  return { row, count: 2, recoveryMs: (await subject.nextCommit(atMs)) - atMs };
}

async function killAll(
  row: string,
  subject: Subject,
  draw: Draw,
  meanwhile: () => Promise<void> = async () => {},
): Promise<Struck> {
  await subject.owner();
  await sleep(draw.waitMs);
  const killed = subject.replicas();
  const ends = await Promise.all(killed.map((replica) => kill(replica)));
  await meanwhile();
  subject.restore();
  const goneMs = Math.max(...ends.map(({ atMs }) => atMs));
  return { row, count: killed.length, recoveryMs: (await subject.nextCommit(goneMs)) - goneMs };
}

/** All that says which input record a price answers: offsets of the new topic of instruments begin at 0 again. */
function topicsOf({ name }: Subject): string[] {
  return ['instruments', 'prices', 'dead-letters'].map((topic) => `${name}.${topic}`);
}

/** A process is killed while the provider answers from a replica that is behind; recovery begins when it is not any more. */
async function killBehind(row: string, round: Round, subject: Subject, draw: Draw): Promise<Struck> {
  const owner = await subject.owner();
  subject.simulator.failOver(round.failover);
  await sleep(draw.waitMs);
  await kill(owner);
  subject.restore();
  await sleep(DISTURBED_MS);
  subject.simulator.failOver(null);
  const fromMs = Date.now();
  return { row, count: 1, recoveryMs: (await subject.nextCommit(fromMs)) - fromMs };
}

async function killAmongSpoilers(row: string, subject: Subject, draw: Draw): Promise<Struck> {
  const owner = await subject.owner();
  const isins = [...subject.simulator.ledger.instruments()].flatMap(
    ({ text }) => /"type":"isin","value":"(\w{12})"/.exec(text)?.[1] ?? [],
  );
  const spoilers = SPOILS.flatMap((fault, index) => {
    const isin = isins[Math.floor((isins.length * (index + 1)) / (SPOILS.length + 1))];
    return isin === undefined ? [] : [{ match: 'bulk' as const, count: 0, bodyHas: [isin], fault }];
  });
  subject.simulator.injectFaults(spoilers);
  await sleep(draw.waitMs);
  const { atMs } = await kill(owner);
  subject.restore();
  const recoveryMs = (await subject.nextCommit(atMs)) - atMs;
  await sleep(DISTURBED_MS);
  subject.simulator.clearFaults();
  return { row, count: 1, recoveryMs };
}

/** The start of a new process is a part of its recovery. */
async function stop(row: string, subject: Subject, draw: Draw): Promise<Struck> {
  // A replica that is only starting takes nothing over.
  await Promise.all(subject.replicas().map((replica) => subject.joined(replica)));
  const owner = await subject.owner();
  await sleep(draw.waitMs);
  const others = subject.replicas().length > 1;
  const askedMs = Date.now();
  owner.signal('SIGTERM');
  const { atMs, code } = await owner.ended;
  if (!others) subject.restore();
  if (code !== 0) throw new Violation(subject.name, [{ kind: 'stuck', text: `${owner.name} stopped with ${code}` }]);
  const committedMs = await subject.nextCommit(askedMs, owner);
  // The longest time without a commit: a source that stops commits what it has under way.
  if (others) {
    const recoveryMs = subject.longestPause(askedMs, committedMs);
    subject.restore();
    return { row: `${row}, another replica goes on`, count: 1, recoveryMs };
  }
  return { row: `${row}, and a new process`, count: 1, recoveryMs: committedMs - atMs };
}

async function pause(row: string, subject: Subject, draw: Draw): Promise<Struck> {
  const owner = await subject.owner();
  await sleep(draw.waitMs);
  const fromMs = Date.now();
  owner.signal('SIGSTOP');
  await sleep(draw.pausedMs);
  owner.signal('SIGCONT');
  const committedMs = await subject.nextCommit(Date.now());
  return { row, count: 1, recoveryMs: subject.longestPause(fromMs, committedMs) };
}

async function storm(row: string, subject: Subject, draw: Draw): Promise<Struck> {
  await subject.owner();
  const fromMs = Date.now();
  const extras: Replica[] = [];
  for (let member = 0; member < draw.members; member++) {
    const replica = subject.start();
    extras.push(replica);
    if (member % 2 === 0) await subject.joined(replica);
    await sleep(draw.waitMs / 4);
  }
  await Promise.all(extras.map((replica) => subject.joined(replica)));
  for (const replica of extras) {
    replica.signal('SIGTERM');
    await replica.ended;
  }
  const committedMs = await subject.nextCommit(Date.now());
  return { row, count: 2 * extras.length, recoveryMs: subject.longestPause(fromMs, committedMs) };
}

/** Which broker is to be killed now, and what follows when it is. */
async function killBroker(
  row: string,
  round: Round,
  ground: Ground,
  subjects: readonly Subject[],
  moment: () => Promise<{ readonly broker: number; readonly killed?: () => void }>,
): Promise<Struck[]> {
  if (ground.kafka === undefined) return [];
  await Promise.all(subjects.map((subject) => subject.owner()));
  const { broker, killed } = await moment();
  const fromMs = Date.now();
  await ground.kafka.kill(broker);
  killed?.();
  await sleep(round.awayMs);
  await ground.kafka.restart(broker);
  const backMs = Date.now();
  const pauses = subjects.map(async (subject) => subject.longestPause(fromMs, await subject.nextCommit(backMs)));
  // One kill, however many connectors felt it.
  return (await Promise.all(pauses)).map((recoveryMs, index) => ({ row, count: index === 0 ? 1 : 0, recoveryMs }));
}

/** The coordinator may not have written the commit to its partitions yet. */
async function afterCommit(round: Round, ground: Ground, subjects: readonly Subject[]) {
  const broker = round.ofCoordinator ? await coordinatorOf(ground) : round.broker;
  await sleep(round.draws[0]?.waitMs);
  const killed = round.withoutMarkers ? holdMarkers(ground) : undefined;
  const fromMs = Date.now();
  const commits = subjects.map((subject) => subject.nextCommit(fromMs));
  // One whose markers are held already does not commit again.
  if (round.withoutMarkers) await Promise.race([Promise.all(commits), sleep(HELD_MS)]);
  else await Promise.race(commits);
  if (round.afterCommitMs > 0) await sleep(round.afterCommitMs);
  return killed === undefined ? { broker } : { broker, killed };
}

function holdMarkers({ innerProxies = [] }: Ground): () => void {
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  const times = Number.POSITIVE_INFINITY;
  for (const proxy of innerProxies) proxy.addRule({ on: 'WriteTxnMarkers', fault: 'delayRequest', until, times });
  return () => {
    for (const proxy of innerProxies) proxy.clearRules();
    release();
  };
}

/** The brokers of a campaign keep all transactions in one partition. */
async function coordinatorOf({ brokers, proxies }: Ground): Promise<number> {
  const leader = await leaderOf(brokers[0] ?? '', '__transaction_state', 0);
  return 1 + proxies.findIndex(({ address }) => address === leader);
}

/** Something that lasts a while; recovery is measured from its end. */
async function disturb(
  row: string,
  isPossible: boolean,
  subjects: readonly Subject[],
  begin: () => () => number,
): Promise<Struck[]> {
  if (!isPossible) return [];
  await Promise.all(subjects.map((subject) => subject.owner()));
  const end = begin();
  await sleep(DISTURBED_MS);
  const hits = end();
  const fromMs = Date.now();
  const recovered = subjects.map(async (subject) => (await subject.nextCommit(fromMs)) - fromMs);
  return (await Promise.all(recovered)).map((recoveryMs, index) => ({
    row,
    count: 1,
    hits: index === 0 ? hits : 0,
    recoveryMs,
  }));
}

function cutOff({ proxies }: Ground, round: Round): () => number {
  const random = seededRandom(round.number);
  const rules = proxies.flatMap((proxy) =>
    NETWORK[round.network].map((rule) => proxy.addRule({ times: Number.POSITIVE_INFINITY, ...rule, random })),
  );
  return () => {
    for (const proxy of proxies) proxy.clearRules();
    return rules.reduce((sum, rule) => sum + rule.hits(), 0);
  };
}

function refuse(subjects: readonly Subject[], rules: readonly FaultRule[]): () => number {
  const struck = () =>
    subjects.flatMap(({ simulator }) => Object.values(simulator.faultsStruck())).reduce((sum, count) => sum + count, 0);
  const before = struck();
  for (const { simulator } of subjects) simulator.injectFaults(rules);
  return () => {
    for (const { simulator } of subjects) simulator.clearFaults();
    return struck() - before;
  };
}

/** The registry is away for a while as a new process starts; recovery is that of the connector, the registry's absence included. */
async function withoutRegistry(ground: Ground, round: Round, body: () => Promise<Struck[]>): Promise<Struck[]> {
  const { registry } = ground;
  if (registry === undefined) return [];
  registry.port.turn(round.registry);
  const back = sleep(DISTURBED_MS).then(() => registry.port.turn({ to: registry.address }));
  return body().finally(() => back);
}
