import type { Kafka, Producer, Transaction } from 'kafkajs';

/** A moment in the life of a source's writer at which the process ends without any clean-up, or stands still. */
export interface KillMoment {
  /**
   * SIGKILL unless given. A process that is stopped goes on from that very moment when it is sent a SIGCONT; its
   * transactions are counted from when it is sent a SIGUSR2.
   */
  readonly signal?: 'SIGSTOP';
  /** Which transaction of this process; the first one only fences. */
  readonly transaction: number;
  readonly at:
    | 'before it begins'
    | 'begun'
    | 'after the first send'
    | 'before the offset record'
    | 'after the offset record'
    | 'after the consumer offset'
    | 'commit sent'
    | 'committed'
    | 'aborted';
}

const OFFSETS_TOPIC = /\.offsets$/;

/** A wrapper for kafkajs whose producers send this process the signal at exactly that moment. */
export function killingKafka(moment: KillMoment): (kafka: Kafka) => Kafka {
  const kafka = armableKafka();
  if (moment.signal === undefined) kafka.arm(moment);
  else process.once('SIGUSR2', () => kafka.arm(moment));
  return kafka.wrap;
}

/** A wrapper for kafkajs whose producers send this process a signal at the moment for which they are armed. */
export function armableKafka() {
  let moment: KillMoment | null = null;
  let transactions = 0;
  const reached = (at: KillMoment['at'], transaction = transactions) => {
    if (moment === null || transaction !== moment.transaction || at !== moment.at) return;
    process.kill(process.pid, moment.signal ?? 'SIGKILL');
  };

  const isBetweenSends = () => moment?.at === 'after the first send' || moment?.at === 'before the offset record';
  const isOffset = ({ topic }: { readonly topic: string }) => OFFSETS_TOPIC.test(topic);

  function killingTransaction(transaction: Transaction): Transaction {
    return override(transaction, {
      async sendBatch(batch) {
        const all = batch.topicMessages ?? [];
        const [offsets, records] = [all.filter(isOffset), all.filter((of) => !isOffset(of))];
        // All of it is one request; for a moment in between it is taken apart.
        if (isBetweenSends() && offsets.length > 0 && records.length > 0) {
          const answers = await transaction.sendBatch({ ...batch, topicMessages: records });
          reached('after the first send');
          reached('before the offset record');
          return [...answers, ...(await transaction.sendBatch({ ...batch, topicMessages: offsets }))];
        }
        const answers = await transaction.sendBatch(batch);
        reached('after the first send');
        if (offsets.length > 0) reached('after the offset record');
        return answers;
      },
      async sendOffsets(offsets) {
        await transaction.sendOffsets(offsets);
        reached('after the consumer offset');
      },
      async commit() {
        const number = transactions;
        const committed = transaction.commit();
        // The request is on its way once the event loop has come round; its answer takes longer, unless the process
        // stood still in between, and then the next transaction may have begun.
        setImmediate(() => setImmediate(() => reached('commit sent', number)));
        await committed;
        reached('committed');
      },
      async abort() {
        await transaction.abort();
        reached('aborted');
      },
    });
  }

  const killingProducer = (producer: Producer): Producer =>
    override(producer, {
      async transaction() {
        transactions += 1;
        reached('before it begins');
        const transaction = await producer.transaction();
        reached('begun');
        return killingTransaction(transaction);
      },
    });

  return {
    /** From now on transactions are counted, those of every writer together. */
    arm(given: KillMoment) {
      moment = given;
      transactions = 0;
    },
    wrap: (kafka: Kafka) =>
      override(kafka, {
        producer: (config) =>
          config?.transactionalId ? killingProducer(kafka.producer(config)) : kafka.producer(config),
      }),
  };
}

function override<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(object, name) {
      const own = Reflect.get(methods, name);
      if (own !== undefined) return own;
      const value = Reflect.get(object, name);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}
