/*
 * Patch G: a response about several topics has an error code for each. kafkajs throws the first one without its topic, so
 * an operator had to look at all of them. And when the broker refuses one partition, it reports the others as not
 * attempted: then the first error may not be the reason.
 */

/** A kind of request of kafkajs: by version, then by the arguments. */
export type Protocol = (of: { readonly version: number }) => (asked: never) => {
  readonly request: unknown;
  readonly response: { readonly parse: (data: never) => Promise<unknown> };
};

interface TopicError {
  readonly topic: string;
  readonly errorCode: number;
}

/** Every error code of a response, in its order; 0 is success. */
type ErrorsOf = (data: never) => readonly TopicError[];

interface PartitionErrors {
  readonly topic: string;
  readonly partitions: readonly { readonly errorCode: number }[];
}

const byPartition = ({ topic, partitions }: PartitionErrors): TopicError[] =>
  partitions.map(({ errorCode }) => ({ topic, errorCode }));

/** Where kafkajs' decoded responses have the error codes. */
export const ERRORS_OF = {
  metadata: ({ topicMetadata }: { topicMetadata: readonly { topic: string; topicErrorCode: number }[] }) =>
    topicMetadata.map(({ topic, topicErrorCode }) => ({ topic, errorCode: topicErrorCode })),
  addPartitionsToTxn: ({
    errors,
  }: {
    errors: readonly { topic: string; partitionErrors: PartitionErrors['partitions'] }[];
  }) => errors.flatMap(({ topic, partitionErrors }) => byPartition({ topic, partitions: partitionErrors })),
  txnOffsetCommit: ({ topics }: { topics: readonly PartitionErrors[] }) => topics.flatMap(byPartition),
} satisfies Record<string, ErrorsOf>;

const OPERATION_NOT_ATTEMPTED = 55;

/** The same requests, whose errors have the field `topics`: those that the broker gave this error for. */
export function namingTopics(
  original: Protocol,
  { errorsOf, errorFromCode }: { readonly errorsOf: ErrorsOf; readonly errorFromCode: (code: number) => Error },
): Protocol {
  return (of) => (asked) => {
    const { request, response } = original(of)(asked);
    const parse = async (data: never) => {
      try {
        return await response.parse(data);
      } catch (error) {
        const errors = errorsOf(data).filter(({ errorCode }) => errorCode !== 0);
        const said = errors.find(({ errorCode }) => errorCode !== OPERATION_NOT_ATTEMPTED);
        if (said === undefined) throw error;
        const { errorCode } = said;
        const topics = new Set(errors.filter((other) => other.errorCode === errorCode).map(({ topic }) => topic));
        throw Object.assign(errorFromCode(errorCode), { topics: [...topics] });
      }
    };
    return { request, response: { ...response, parse } };
  };
}
