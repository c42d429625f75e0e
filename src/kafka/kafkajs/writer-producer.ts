import type { Producer } from 'kafkajs';
import type { Clock } from '../../support/clock.ts';
import { retry } from '../../support/retry.ts';
import {
  askBroker,
  type Broker,
  type Cluster,
  COORDINATOR_MOVES,
  type Decoder,
  kafkajsError,
  supportedVersion,
  type UsedSocket,
} from './kafkajs-internals.ts';

export interface WriterProducer extends Producer {
  /**
   * The coordinator's state of the last transaction with this transactional id. Call this before the producer's first
   * transaction. Undefined if the coordinator does not know the id, or is older than 3.0. @throws if no coordinator answers.
   */
  lastTransaction?(): Promise<string | undefined>;
  /** How this producer's last transaction ended, if a connection that it used was lost. Otherwise undefined. */
  cutOffAfter?(): Ending | undefined;
}

export type Ending = 'commit' | 'abort';

type OwnCluster = Pick<Cluster, 'findGroupCoordinator' | 'brokerPool' | 'hasLostConnection'>;

export type CreateProducer = (of: { cluster: OwnCluster; transactionalId?: string | undefined }) => Producer;

const TRANSACTION = 1;
/** Supported by brokers from 3.0. */
const DESCRIBE = { apiKey: 65, apiVersion: 0, apiName: 'DescribeTransactions' };
const RETRY = { backOff: { initialMs: 50, maximumMs: 2_000 }, attempts: 6 };

class CoordinatorMoves extends Error {}

/** Adds `lastTransaction`. The producer's next search for its coordinator returns the one that `lastTransaction` found. */
export function askingForLast(original: CreateProducer, clock: Clock): CreateProducer {
  return (of) => {
    const { cluster, transactionalId } = of;
    if (transactionalId === undefined) return original(of);
    const find = cluster.findGroupCoordinator.bind(cluster);
    let found: Broker | undefined;
    // Only this producer uses this cluster object, so the object's function can be replaced.
    cluster.findGroupCoordinator = async (asked) => {
      const coordinator = asked.coordinatorType === TRANSACTION ? found : undefined;
      found = undefined;
      return coordinator ?? find(asked);
    };
    const ask = async () => {
      const coordinator = await find({ groupId: transactionalId, coordinatorType: TRANSACTION });
      if (supportedVersion(coordinator, DESCRIBE.apiKey) < DESCRIBE.apiVersion) return undefined;
      const { errorCode, state } = await askBroker(
        coordinator,
        DESCRIBE,
        (request, element) => request.writeUVarIntArray([element().writeUVarIntString(transactionalId)]),
        readState,
      );
      if (COORDINATOR_MOVES.includes(errorCode)) throw new CoordinatorMoves('', { cause: kafkajsError(errorCode) });
      found = coordinator;
      return errorCode === 0 ? state : undefined;
    };
    const mayRetry = (error: unknown) => error instanceof CoordinatorMoves;
    const lastTransaction = () => retry(ask, { ...RETRY, mayRetry, clock, random: () => 1 });
    return Object.assign(watched(original(of), cluster), { lastTransaction });
  };
}

/** Reads the state of one transactional id, for example Ongoing or CompleteCommit. The state is empty after an error. */
function readState(from: Decoder): { readonly errorCode: number; readonly state: string } {
  let found = { errorCode: 0, state: '' };
  from.readUVarIntArray(() => {
    const errorCode = from.readInt16();
    from.readUVarIntString();
    found = { errorCode, state: from.readUVarIntString() ?? '' };
  });
  return found;
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

/** Notices if a connection of the last transaction was lost, because kafkajs reconnects silently. Brokers close idle ones. */
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
