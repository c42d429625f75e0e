import { tlsAdvice } from '../../support/tls-advice.ts';

/** The maximum number of nested causes that are read; kafkajs nests at most three. */
const MAX_CAUSES = 10;

/**
 * The error codes of a fenced producer: INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING,
 * PRODUCER_FENCED. kafkajs does not know PRODUCER_FENCED, and shows the code 90 only in the text of the error.
 */
const FENCED_CODES: readonly unknown[] = [47, 48, 49, 90];
const FENCED_TEXT = 'Unknown error code 90';

export function isFenced(error: unknown): boolean {
  return causes(error).some(({ code, message }) => FENCED_CODES.includes(code) || message.includes(FENCED_TEXT));
}

export const LEADERLESS = ['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE'];
/** The coordinator is still ending the producer's earlier transaction. The request had no effect. */
export const CONCURRENT = ['CONCURRENT_TRANSACTIONS'];
/** The topic does not exist, or the broker does not know the topic yet. */
export const UNKNOWN_TOPIC = ['UNKNOWN_TOPIC_OR_PARTITION'];

export function isOneOf(types: readonly unknown[], error: unknown): boolean {
  return causes(error).some(({ type }) => types.includes(type));
}

export type TopicRefusal = 'missing' | 'forbidden' | 'tooLarge' | 'invalid';

const REFUSALS: Readonly<Record<string, TopicRefusal>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'missing',
  TOPIC_AUTHORIZATION_FAILED: 'forbidden',
  MESSAGE_TOO_LARGE: 'tooLarge',
  RECORD_LIST_TOO_LARGE: 'tooLarge',
  INVALID_TOPIC_EXCEPTION: 'invalid',
  INVALID_RECORD: 'invalid',
  INVALID_TIMESTAMP: 'invalid',
  UNSUPPORTED_COMPRESSION_TYPE: 'invalid',
  POLICY_VIOLATION: 'invalid',
};

export function topicRefusalOf(error: unknown): TopicRefusal | undefined {
  const types = causes(error).map(({ type }) => REFUSALS[String(type)]);
  return types.find((refusal) => refusal !== undefined);
}

export function refusedRecords(error: unknown): number | undefined {
  return causes(error).find((cause) => cause.refusedRecords !== undefined)?.refusedRecords;
}

/** After a connection was lost between two requests, kafkajs throws an unnamed error with this text. */
const NOT_CONNECTED = 'Broker not connected';

export function isUnanswered(error: unknown): boolean {
  return causes(error).some(
    ({ name, message }) =>
      /^KafkaJS(Connection|RequestTimeout|ConnectionClosed)/.test(name) || message === NOT_CONNECTED,
  );
}

/** The broker's name of the error; undefined if no broker answered. */
export function typeOf(error: unknown): string | undefined {
  return causes(error).find(({ type }) => typeof type === 'string')?.type;
}

const LOGIN_REFUSED = 'ILLEGAL_SASL_STATE';
const NO_SASL =
  'This listener has no SASL: unset kafka.sasl.mechanism (KAFKA_SASL_MECHANISM), or name a listener with SASL in kafka.brokers (KAFKA_BROKERS).';

export function isLoginFailure(error: unknown): boolean {
  return causes(error).some(({ type }) => type === LOGIN_REFUSED);
}

/** The reason of an error, for messages and logs: Kafka's name of the error, or the innermost cause's message. */
export function kafkaReason(error: unknown): string {
  const login = causes(error).find((cause) => cause instanceof LoginFailed);
  if (login !== undefined) return login.message;
  const named = causes(error).find(({ type }) => typeof type === 'string');
  if (named?.type === LOGIN_REFUSED) return NO_SASL;
  if (named) return `${named.type}: ${named.message}`;
  const innermost = causes(error).at(-1);
  const reason = innermost?.message ?? String(error);
  if (reason === NOT_CONNECTED) return 'the connection to the broker was lost';
  const advice = tlsAdvice(innermost, 'kafka.ssl.ca', 'kafka.brokers (KAFKA_BROKERS)');
  return advice === null ? reason : `${reason}: ${advice}`;
}

/** An error with the fields of kafkajs' errors and of our errors. */
interface KafkaCause extends Error {
  readonly type?: string;
  readonly code?: unknown;
  readonly topic?: string;
  readonly topics?: readonly string[];
  readonly refusedRecords?: number;
}

function causes(error: unknown): KafkaCause[] {
  const chain: KafkaCause[] = [];
  for (let next = error; next instanceof Error && chain.length < MAX_CAUSES; next = next.cause) chain.push(next);
  return chain;
}

export function topicsOf(error: unknown): readonly string[] | undefined {
  const [named] = causes(error).flatMap(({ topic, topics = topic === undefined ? undefined : [topic] }) =>
    topics === undefined ? [] : [topics],
  );
  return named;
}

/** kafkajs retries this error: a login fails while the broker has not loaded a new signing key of the tokens yet. */
export class LoginFailed extends Error {
  override readonly name = 'LoginFailed';
  readonly retriable = true;
  readonly type = LOGIN_REFUSED;

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
  }
}
