import type { FaultRule } from '../../src/dev/simulator/faults/fault.ts';
import { seededRandom } from '../simulation/random.ts';
import type { KillMoment } from '../support/kafka/killing-kafka.ts';
import type { FaultRule as NetworkRule } from '../support/network/tcp-proxy-faults.ts';

/*
 * What happens when: data, drawn from the seed. A round is one kind of fault, which strikes every connector at the same
 * time, each with a draw of its own. Rounds follow one another when every connector has recovered; the n-th round of a
 * seed is the same in every run with the same faults, connectors and brokers.
 */

/** Each kind of fault with how often it is drawn, and what one of them is in words. */
export const FAULTS = {
  kill: { weight: 6, says: 'kill -9 at random' },
  step: { weight: 8, says: 'kill -9 at a named step' },
  heir: { weight: 2, says: 'kill -9, and its successor at a named step' },
  all: { weight: 1, says: 'kill -9 of all replicas at once' },
  failover: { weight: 3, says: 'kill -9 while a replica of the provider is behind' },
  spoil: { weight: 3, says: 'kill -9 while products spoil their bulk calls' },
  topic: { weight: 1, says: 'kill -9 of all, and topics are deleted' },
  stop: { weight: 2, says: 'clean stop' },
  pause: { weight: 1, says: 'SIGSTOP beyond the session time-out' },
  storm: { weight: 2, says: 'members join and leave' },
  commit: { weight: 1, says: 'kill -9 of a broker just after a commit' },
  broker: { weight: 3, says: 'kill -9 of a broker' },
  network: { weight: 2, says: 'network cuts, delays and drops' },
  provider: { weight: 2, says: 'slow and refusing provider' },
  registry: { weight: 1, says: 'kill -9 while the registry is away' },
} as const;
export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

/** What kills no process that is to live on: the faults of a soak. */
export const SOAK_FAULTS: readonly FaultName[] = ['pause', 'storm', 'network', 'provider', 'broker', 'commit'];

/** What is drawn for one connector; a round uses what its fault needs. */
export interface Draw {
  /** How long it runs undisturbed first. */
  readonly waitMs: number;
  readonly moment: KillMoment;
  readonly successorMoment: KillMoment;
  /** How long a process stands still, beyond the session time-out. */
  readonly pausedMs: number;
  /** How many members join, and then leave one after the other. */
  readonly members: number;
}

export interface Round {
  /** From 1. */
  readonly number: number;
  readonly fault: FaultName;
  readonly draws: readonly Draw[];
  /** Which broker, from 1, and how long it stays away. */
  readonly broker: number;
  readonly awayMs: number;
  /** How long after an acknowledged commit a broker is killed, and whether it is the coordinator of transactions. */
  readonly afterCommitMs: number;
  readonly ofCoordinator: boolean;
  /** Whether no transaction gets its markers from then on: the broker is killed before it can have written any. */
  readonly withoutMarkers: boolean;
  readonly network: keyof typeof NETWORK;
  readonly provider: keyof typeof PROVIDER;
  readonly registry: (typeof REGISTRY)[number];
  /** How far the replica that answers is behind, and its answer to an offset that it does not know yet. */
  readonly failover: { readonly lagMs: number; readonly beyond: (typeof BEYOND)[number] };
}

const STEPS: readonly KillMoment['at'][] = [
  'before it begins',
  'begun',
  'after the first send',
  'before the offset record',
  'after the offset record',
  'after the consumer offset',
  'commit sent',
  'committed',
];

/** What the proxies do to Kafka's requests, and to their answers. */
export const NETWORK = {
  'lost answers': [
    {
      on: ['Produce', 'EndTxn', 'AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit'],
      fault: 'cutAnswer',
      chance: 0.2,
    },
    { on: 'InitProducerId', fault: 'cutAnswer', chance: 0.2 },
  ],
  'cut requests': [
    { on: ['Produce', 'EndTxn', 'Fetch', 'Metadata', 'FindCoordinator'], fault: 'cutRequest', chance: 0.1 },
  ],
  'dropped requests': [{ on: ['Produce', 'EndTxn', 'TxnOffsetCommit'], fault: 'dropRequest', chance: 0.1, times: 2 }],
  'late delivery': [{ on: ['Produce', 'EndTxn'], fault: 'deliverLate', delayMs: 1_500, chance: 0.2 }],
  delays: [{ on: ['Produce', 'EndTxn', 'Heartbeat', 'Fetch'], fault: 'delayAnswer', delayMs: 1_200, chance: 0.3 }],
  'black hole': [{ on: ['Produce', 'Heartbeat', 'Fetch'], fault: 'blackHole', times: 2, chance: 0.3 }],
} as const satisfies Readonly<Record<string, readonly NetworkRule[]>>;

/** What the provider does meanwhile. */
export const PROVIDER = {
  'status 503': [{ match: '*', rate: 0.7, fault: { kind: 'status', status: 503 } }],
  'status 429': [{ match: '*', rate: 0.4, fault: { kind: 'status', status: 429, retryAfterSeconds: 2 } }],
  'late answers': [{ match: '*', rate: 0.5, fault: { kind: 'delay', ms: 2_500 } }],
  'cut answers': [{ match: '*', rate: 0.5, fault: { kind: 'reset', share: 0.6 } }],
  'truncated answers': [{ match: '*', rate: 0.5, fault: { kind: 'truncate', how: 'chunked', share: 0.7 } }],
  'broken JSON': [{ match: '*', rate: 0.4, fault: { kind: 'cutJson', characters: 3 } }],
  'slow bodies': [{ match: '*', rate: 0.3, fault: { kind: 'slow', part: 'body', bytesPerSecond: 20_000 } }],
  'expired tokens': [
    { match: '*', rate: 0.3, fault: { kind: 'expireTokens' } },
    { match: 'token', rate: 0.3, fault: { kind: 'status', status: 500 } },
  ],
  'mixed bulk responses': [
    { match: 'bulk', rate: 0.3, fault: { kind: 'bulk', how: 'swap' } },
    { match: 'bulk', rate: 0.3, fault: { kind: 'bulk', how: 'drop' } },
    { match: 'bulk', rate: 0.3, fault: { kind: 'bulk', how: 'refuse' } },
  ],
} as const satisfies Readonly<Record<string, readonly FaultRule[]>>;

/**
 * A coordinator acknowledges a commit before it has written it to the partitions, which takes it a few milliseconds; so
 * half of the kills come within 6 of them.
 */
const AFTER_COMMIT_MS = 50;

const REGISTRY = ['cut', 'hang', 'fail'] as const;
const BEYOND = ['echo', 'newest', 'back', 404, 410] as const;
/** How three products spoil each bulk call that names them. */
export const SPOILS = [
  { kind: 'reset', share: 0 },
  { kind: 'status', status: 503, retryAfterSeconds: 1 },
  { kind: 'status', status: 422 },
] as const satisfies readonly FaultRule['fault'][];

/** The rounds, without end. */
export function* drawRounds(options: {
  readonly seed: number;
  readonly faults: readonly FaultName[];
  readonly connectors: number;
  readonly brokers: number;
}): Generator<Round, never> {
  const { seed, faults, connectors, brokers } = options;
  const random = seededRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <Item>(items: readonly Item[]) => items[below(items.length)] as Item;
  const names = <Name extends string>(table: Readonly<Record<Name, unknown>>) => Object.keys(table) as Name[];
  const weighted = faults.flatMap((fault) => Array.from({ length: FAULTS[fault].weight }, () => fault));
  const moment = (): KillMoment => ({ transaction: 1 + below(4), at: pick(STEPS) });
  const draw = (): Draw => ({
    waitMs: below(2_500),
    moment: moment(),
    successorMoment: moment(),
    pausedMs: 7_000 + below(4_000),
    members: 2 + below(3),
  });
  for (let number = 1; ; number++) {
    yield {
      number,
      fault: pick(weighted),
      draws: Array.from({ length: connectors }, draw),
      broker: 1 + below(brokers),
      awayMs: below(3_000),
      afterCommitMs: Math.floor(AFTER_COMMIT_MS * random() ** 3),
      ofCoordinator: random() < 0.5,
      withoutMarkers: random() < 0.5,
      network: pick(names(NETWORK)),
      provider: pick(names(PROVIDER)),
      registry: pick(REGISTRY),
      failover: { lagMs: 1_000 + below(60_000), beyond: pick(BEYOND) },
    };
  }
}
