import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSimulator, type Simulator } from '../../src/dev/simulator/simulator.ts';
import { seededRandom } from '../simulation/random.ts';
import { connectorEnvironment, settingsText } from '../support/connectors/connector-process.ts';
import { keepChanging } from '../support/ledgers/changes.ts';
import { ledgerUniverse } from '../support/ledgers/universe-reading.ts';
import type { Ground } from './ground.ts';
import { type Replica, type Reported, startReplica } from './replica.ts';
import { type FindingKind, Violation } from './violation.ts';

/** How a connector of a campaign is set up. */
export interface SubjectOptions {
  readonly ground: Ground;
  /** Its prefix, and its name in logs and reports. */
  readonly name: string;
  readonly replicas: number;
  readonly seed: number;
  /** Where its replicas' logs go. */
  readonly folder: string;
  readonly instruments: number;
  readonly changesPerSecond: number;
  readonly priceRefresh: string;
  /** The default of the settings unless given. */
  readonly sessionTimeout?: string;
}

export type Subject = Awaited<ReturnType<typeof openSubject>>;

const LOOK_EVERY_MS = 20;
/** What takes longer is stuck. The longest wait of the connector itself is that for a request that is never answered. */
export const STUCK_MS = 300_000;
const COMMITS = new Set<Reported['event']>(['streamCommitted', 'pageCommitted']);

/** One connector, its replicas, and a provider of its own that keeps changing. */
export async function openSubject(options: SubjectOptions) {
  const { name, seed } = options;
  const simulator = await createSimulator({ instruments: options.instruments, seed, port: 0, keptPrices: 1_000 });
  /** The universe before anything happened in it. */
  const first = await ledgerUniverse(simulator);
  const env = environmentOf(options, simulator);
  const started: Replica[] = [];
  const commits: { readonly atMs: number; readonly replica: Replica }[] = [];
  const members = new Set<Replica>();
  const failures: string[] = [];
  let reported = Promise.withResolvers<void>();
  const onReport = (replica: Replica, { event, atMs, text }: Reported) => {
    if (COMMITS.has(event)) commits.push({ atMs, replica });
    if (event === 'replicaJoined') members.add(replica);
    if (event === 'sourceFailed' || event === 'processorFailed') failures.push(`${event} in ${replica.name}: ${text}`);
    reported.resolve();
    reported = Promise.withResolvers<void>();
  };
  const stopChanging = keepChanging(simulator, { perSecond: options.changesPerSecond }, seededRandom(seed));

  /** Throws when something ended by itself. */
  function assertWell(): void {
    const ended = started.filter((replica) => !replica.isRunning() && !replica.isDoomed());
    const found = [...failures, ...ended.map((replica) => `${replica.name} ended by itself`)];
    if (found.length > 0) throw violation('stuck', found);
  }
  const violation = (kind: FindingKind, texts: readonly string[]) =>
    new Violation(
      name,
      texts.map((text) => ({ kind, text })),
    );
  async function until<Found>(what: string, look: () => Found | undefined): Promise<Found> {
    const deadlineMs = performance.now() + STUCK_MS;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      assertWell();
      if (performance.now() > deadlineMs) throw violation('stuck', [`${what}: not within ${STUCK_MS / 1_000} s`]);
      // A fault that must strike within milliseconds of a commit cannot wait for the next look.
      await Promise.race([sleep(LOOK_EVERY_MS), reported.promise]);
    }
  }
  const commitAfter = (afterMs: number, what: string, except?: Replica) =>
    until(what, () => commits.find(({ atMs, replica }) => atMs > afterMs && replica !== except));
  const start = () => {
    const number = started.length + 1;
    const replica = startReplica({
      name: `${name}-${number}`,
      env,
      logFile: join(options.folder, `${name}-${number}.log`),
      onReport,
    });
    started.push(replica);
    return replica;
  };
  /** Those that run, and are to. */
  const replicas = () => started.filter((replica) => replica.isRunning() && !replica.isDoomed());
  return {
    name,
    simulator,
    first,
    replicas,
    start,
    assertWell,
    stopChanging,
    /** Starts replicas until as many run as there should be. */
    restore() {
      while (replicas().length < options.replicas) start();
    },
    /** The replica that commits, once it has done so after now. */
    owner: async () => (await commitAfter(Date.now(), 'a commit in calm')).replica,
    /** When the first commit after this moment was, by one of the replicas unless one is excepted. */
    nextCommit: async (afterMs: number, except?: Replica) =>
      (await commitAfter(afterMs, 'a commit after the fault', except)).atMs,
    /** Resolves when the replica is a member of the group. */
    async joined(replica: Replica) {
      await until('a new member of the group', () => (members.has(replica) ? true : undefined));
    },
    /** The longest time without a commit between two moments. */
    longestPause(fromMs: number, untilMs: number) {
      const times = commits.map(({ atMs }) => atMs).filter((atMs) => atMs > fromMs && atMs < untilMs);
      const moments = [fromMs, ...times, untilMs];
      return Math.max(...moments.map((atMs, index) => atMs - (moments[index - 1] ?? atMs)));
    },
    async close() {
      stopChanging();
      for (const replica of started) if (replica.isRunning()) replica.signal('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await simulator.close();
    },
  };
}

function environmentOf(options: SubjectOptions, simulator: Simulator): Record<string, string> {
  const { ground, name, priceRefresh, sessionTimeout } = options;
  const more = `
topics: { replicationFactor: ${Math.min(3, ground.brokers.length)} }
marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }
prices: { kinds: { overview: { refreshInterval: ${priceRefresh} } } }`;
  const source = { pollInterval: '500ms', handoffMargin: '100ms', walkInterval: '20s', limit: 50, maxShrink: 1 };
  const { registryUrl } = ground;
  const given = { brokers: [...ground.brokers], registryUrl };
  return connectorEnvironment(given, simulator, {
    TOPIC_PREFIX: name,
    SETTINGS: settingsText(source, more),
    ...(sessionTimeout !== undefined && { SESSION_TIMEOUT: sessionTimeout }),
  });
}
