import type { Producer } from 'kafkajs';
import type { Clock } from '../../support/clock.ts';
import { retry } from '../../support/retry.ts';
import type { Broker, Cluster } from './kafkajs-internals.ts';
import { askBroker, decodeDescribeTransactions, encodeDescribeTransactions } from './requests.ts';

/** A producer of kafkajs that knows more about its last transaction. */
export interface WriterProducer extends Producer {
  /**
   * The state of the last transaction, to be asked before this producer begins its first one; undefined when the coordinator
   * does not know the transactional id, or gives no information: brokers before 3.0 do not.
   *
   * @throws Error when no coordinator answers.
   */
  lastTransaction?(): Promise<string | undefined>;
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
/** Version 0 (brokers from 3.0), which kafkajs does not have. */
const DESCRIBE_TRANSACTIONS = 65;
const REQUEST = { apiKey: DESCRIBE_TRANSACTIONS, apiVersion: 0, apiName: 'DescribeTransactions' };
/** COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR. */
const PASSING: readonly number[] = [14, 15, 16];
const RETRY = { backOff: { initialMs: 50, maximumMs: 2_000 }, attempts: 6 };

class CoordinatorMoves extends Error {}

/** The coordinator that it finds is used for the request behind it too, which saves that one a round trip. */
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
      const { errorCode, state } = await askBroker(
        coordinator,
        REQUEST,
        encodeDescribeTransactions(transactionalId),
        decodeDescribeTransactions,
      );
      if (PASSING.includes(errorCode)) throw new CoordinatorMoves('', { cause: errorFromCode(errorCode) });
      return { coordinator, state: errorCode === 0 ? state : undefined };
    };
    const askFirst = async () => {
      const answered = await ask();
      found = answered?.coordinator;
      return answered?.state;
    };
    const mayRetry = (error: unknown) => error instanceof CoordinatorMoves;
    const lastTransaction = () => retry(askFirst, { ...RETRY, mayRetry, clock, random: () => 1 });
    return Object.assign(watched(original(of), cluster), { lastTransaction });
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

/** The parts of a connection's socket that show its use and its end. */
interface UsedSocket {
  readonly bytesWritten: number;
  readonly destroyed: boolean;
  readonly readableEnded: boolean;
}

/**
 * Whether a connection that a producer's last transaction used has ended since. kafkajs connects again, and says nothing.
 * Other connections do not count: brokers close those that are idle.
 */
class UsedConnections {
  readonly #open: () => readonly UsedSocket[];
  #begun = new Map<UsedSocket, number>();
  #used: readonly UsedSocket[] = [];

  constructor(open: () => readonly UsedSocket[]) {
    this.#open = open;
  }

  begins(): void {
    this.#begun = new Map(this.#open().map((socket) => [socket, socket.bytesWritten]));
  }

  ended(): void {
    const all = new Set([...this.#begun.keys(), ...this.#open()]);
    this.#used = [...all].filter((socket) => socket.bytesWritten !== this.#begun.get(socket));
  }

  isOneLost(): boolean {
    return this.#used.some(({ destroyed, readableEnded }) => destroyed || readableEnded);
  }
}
