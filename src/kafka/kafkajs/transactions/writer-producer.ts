import type { Producer } from 'kafkajs';
import type { Clock } from '../../../support/clock.ts';
import { retry } from '../../../support/retry.ts';
import type { Broker, Cluster } from '../kafkajs-internals.ts';
import {
  DESCRIBE_TRANSACTIONS,
  type DescribedTransaction,
  decodeDescribeTransactions,
  encodeDescribeTransactions,
} from './describe-transactions.ts';
import { UsedConnections, type UsedSocket } from './used-connections.ts';

/** A producer of kafkajs (patch L) that knows more about its last transaction. */
export interface WriterProducer extends Producer {
  /**
   * The state of the last transaction, to be asked before this producer begins its first one; undefined when the coordinator
   * does not know the transactional id, or gives no information: brokers before 3.0 do not.
   *
   * @throws Error when no coordinator answers.
   */
  lastTransaction?(): Promise<string | undefined>;
  /**
   * Waits until the partitions have the markers of a transaction whose commit was acknowledged: the coordinator
   * acknowledges it before it sends them.
   *
   * @throws Error when they do not have them within some 15 s, or no coordinator answers.
   */
  markersWritten?(): Promise<void>;
  /** How this producer ended its last transaction, when a connection that it used for it has ended since. */
  cutOffAfter?(): Ending | undefined;
}

export type Ending = 'commit' | 'abort';

interface OwnCluster extends Pick<Cluster, 'hasLostConnection'> {
  findGroupCoordinator: (of: { readonly groupId: string; readonly coordinatorType: number }) => Promise<Coordinator>;
  readonly brokerPool: { readonly brokers: Readonly<Record<string, PooledBroker>>; readonly seedBroker?: PooledBroker };
}

/** A connection keeps its last socket. */
interface PooledBroker {
  readonly connectionPool: { readonly pool: readonly { readonly socket?: UsedSocket }[] };
}

interface Coordinator extends Broker {
  readonly versions: Readonly<Record<number, object>> | null;
}

/** What kafkajs creates a producer of. */
interface ProducerParts {
  readonly cluster: OwnCluster;
  readonly transactionalId?: string | undefined;
}

export type CreateProducer = (of: ProducerParts) => Producer;

const TRANSACTION = 1;
const REQUEST = { apiKey: DESCRIBE_TRANSACTIONS, apiVersion: 0, apiName: 'DescribeTransactions' };
/** COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR. */
const PASSING: readonly number[] = [14, 15, 16];
const RETRY = { backOff: { initialMs: 50, maximumMs: 2_000 }, attempts: 6 };
/** Markers take some 20 ms. */
const WAIT = { backOff: { initialMs: 5, maximumMs: 200 }, attempts: 80 };
const MARKERS_MISSING = 'PrepareCommit';

class CoordinatorMoves extends Error {}
class MarkersMissing extends Error {}

/** Patch L. The coordinator that it finds is used for the request behind it too, which saves that one a round trip. */
export function askingForLast(
  original: CreateProducer,
  { clock, errorFromCode }: { readonly clock: Clock; readonly errorFromCode: (code: number) => Error },
): CreateProducer {
  return (of) => {
    const { cluster, transactionalId } = of;
    if (transactionalId === undefined) return original(of);
    const find = cluster.findGroupCoordinator.bind(cluster);
    let found: Coordinator | undefined;
    // The cluster is this producer's own.
    cluster.findGroupCoordinator = async (asked) => {
      const coordinator = asked.coordinatorType === TRANSACTION ? found : undefined;
      found = undefined;
      return coordinator ?? find(asked);
    };
    const ask = async () => {
      const coordinator = await find({ groupId: transactionalId, coordinatorType: TRANSACTION });
      if (coordinator.versions?.[DESCRIBE_TRANSACTIONS] === undefined) return undefined;
      const { errorCode, state } = await describe(coordinator, transactionalId);
      if (PASSING.includes(errorCode)) throw new CoordinatorMoves('', { cause: errorFromCode(errorCode) });
      return { coordinator, state: errorCode === 0 ? state : undefined };
    };
    const askFirst = async () => {
      const answered = await ask();
      found = answered?.coordinator;
      return answered?.state;
    };
    const askForMarkers = async () => {
      const answered = await ask();
      if (answered?.state === MARKERS_MISSING) throw new MarkersMissing('a committed transaction has not ended yet');
    };
    const mayRetry = (error: unknown) => error instanceof CoordinatorMoves || error instanceof MarkersMissing;
    const again = { mayRetry, clock, random: () => 1 };
    const lastTransaction = () => retry(askFirst, { ...RETRY, ...again });
    const markersWritten = () => retry(askForMarkers, { ...WAIT, ...again });
    return Object.assign(watched(original(of), cluster), { lastTransaction, markersWritten });
  };
}

function watched(producer: Producer, cluster: OwnCluster): WriterProducer {
  const { brokerPool } = cluster;
  const connections = new UsedConnections(() => {
    const brokers = new Set([...Object.values(brokerPool.brokers), brokerPool.seedBroker]);
    const pooled = [...brokers].flatMap((broker) => broker?.connectionPool.pool ?? []);
    return pooled.flatMap(({ socket }) => socket ?? []);
  });
  cluster.hasLostConnection = () => connections.isOneLost();
  let last: Ending | undefined;
  return {
    ...producer,
    async transaction() {
      connections.begins();
      const transaction = await producer.transaction();
      const ending = (how: Ending) => async () => {
        await transaction[how]();
        last = how;
        connections.ended();
      };
      return { ...transaction, commit: ending('commit'), abort: ending('abort') };
    },
    cutOffAfter: () => (connections.isOneLost() ? last : undefined),
  };
}

async function describe({ connectionPool }: Coordinator, transactionalId: string): Promise<DescribedTransaction> {
  const request = { ...REQUEST, encode: async () => encodeDescribeTransactions(transactionalId) };
  const response = {
    decode: async (payload: unknown) => decodeDescribeTransactions(payload as Buffer),
    parse: async (decoded: unknown) => decoded,
  };
  return (await connectionPool.send({ request, response })) as DescribedTransaction;
}
