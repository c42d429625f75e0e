/** The caller's next step after a failed operation. Callers decide by this action or by the code, never by the message. */
export type ErrorAction =
  /** Repeat the operation after a back-off (or after `retryAfterMs`). */
  | 'retry'
  /** The other side refuses, and usually only a person can correct the cause: retry after a long back-off. */
  | 'retrySlowly'
  /** Repeat the operation with fewer items. */
  | 'askForLess'
  /** The transactional writer is permanently unusable: open a new writer, which reads every offset again. */
  | 'reopenWriter'
  /** This source cannot continue without an operator; other sources can. */
  | 'stopSource'
  /** The process cannot start or continue. */
  | 'exit';

const START_OVER =
  '`spconnect stop <source>`, then `spconnect offsets reset <source> --execute`, then `spconnect resume <source>`';

/** All error codes, each with the caller's action and the operator's remedy. */
export const ERROR_CODES = {
  SETTINGS_INVALID: { action: 'exit', remedy: 'Correct the settings that the message names.' },
  ADMIN_PORT_TAKEN: {
    action: 'exit',
    remedy:
      'Set admin.host to an address and admin.port (ADMIN_PORT) to a free port of this machine, or admin.enabled: false.',
  },
  ADMIN_UNREACHABLE: {
    action: 'exit',
    remedy:
      'Start the connector, or name its admin server: --url, or admin.host (ADMIN_HOST) and admin.port (ADMIN_PORT).',
  },
  STACK_UNAVAILABLE: {
    action: 'exit',
    remedy: 'Set KAFKA_BROKERS and SCHEMA_REGISTRY_URL, start Docker, or install Java 17+ and Maven.',
  },
  PROVIDER_UNREACHABLE: {
    action: 'retry',
    remedy:
      'Check referenceData.url (REFERENCE_DATA_URL) or marketData.url (MARKET_DATA_URL), DNS, proxy and firewall.',
  },
  PROVIDER_TIMEOUT: {
    action: 'askForLess',
    remedy: 'Do what the message says: raise the timeout of referenceData or marketData, or request less at once.',
  },
  PROVIDER_BUSY: {
    action: 'retry',
    remedy: 'None: the request is repeated (after 408, 425, 429, 5xx). If it fails for long, ask the provider.',
  },
  PROVIDER_UNAUTHORIZED: {
    action: 'retrySlowly',
    remedy: 'Check the credentials in the auth of referenceData or marketData.',
  },
  PROVIDER_REFUSED: {
    action: 'retrySlowly',
    remedy:
      'Check referenceData.url (REFERENCE_DATA_URL) or marketData.url (MARKET_DATA_URL), and the filter of the source.',
  },
  PROVIDER_ASKS_FOR_LESS: { action: 'askForLess', remedy: 'None: the next request is smaller.' },
  PROVIDER_REDIRECT: {
    action: 'retrySlowly',
    remedy: 'Set the url in referenceData or marketData to the final address; redirects are never followed.',
  },
  BODY_TOO_LARGE: {
    action: 'askForLess',
    remedy: 'Raise maxBodyBytes of referenceData or marketData, or request less at once.',
  },
  BODY_INCOMPLETE: { action: 'retry', remedy: 'None: the response was incomplete; the request is repeated.' },
  BODY_MALFORMED: { action: 'retry', remedy: 'Report the response to the provider when the error persists.' },
  PROTOCOL_VIOLATION: { action: 'retry', remedy: 'Report the response to the provider when the error persists.' },
  BULK_MISMATCH: {
    action: 'askForLess',
    remedy: 'Report the response to the provider when the error persists: no part of such a response is used.',
  },
  TOKEN_FAILED: {
    action: 'retry',
    remedy:
      'Check tokenUrl, clientId, clientSecret and scope of referenceData.auth, marketData.auth, schemaRegistry.auth or kafka.sasl.',
  },
  WALK_CURSOR_REPEATED: {
    action: 'stopSource',
    remedy: 'Report the cursor to the provider. Restart the source when the provider has corrected the list.',
  },
  RETENTION_GAPS_REPEAT: {
    action: 'stopSource',
    remedy:
      'Find out why the provider keeps losing its event stream; then restart the source. For a day after the first gap, this works only if the provider serves the committed offset. To begin as a new source, without the unread items, reset its offset.',
  },
  TOO_MANY_DEAD_LETTERS: {
    action: 'stopSource',
    remedy:
      '`spconnect preview <source>` shows the rows, with --from (the minId or since of the message) and --limit: report them, and after their correction run `spconnect restart <source>`. Or raise mapping.maxDeadLetters, then restart the connector.',
  },
  FILTER_CHANGED: {
    action: 'stopSource',
    remedy: `Restore the filter of the source, or let it begin as a new source, without its unread items: ${START_OVER}.`,
  },
  OFFSET_UNREADABLE: {
    action: 'stopSource',
    remedy: `Write a correct offset with Kafka Connect's tools, or let it begin as a new source, without its unread items: ${START_OVER}.`,
  },
  SOURCE_NOT_STOPPED: {
    action: 'exit',
    remedy: 'Run `spconnect stop <source>`, then the command again, then `spconnect resume <source>`.',
  },
  OFFSET_NOT_FOUND: {
    action: 'exit',
    remedy: '`spconnect offsets list` shows the offsets. A source without an offset must run once first.',
  },
  REGISTRY_UNREACHABLE: {
    action: 'retry',
    remedy: 'Start the registry, or correct schemaRegistry.url or the network to the registry.',
  },
  REGISTRY_REFUSED: {
    action: 'retrySlowly',
    remedy: 'Check schemaRegistry.url and schemaRegistry.auth, and that the account may register schemas.',
  },
  REGISTRY_MISMATCH: {
    action: 'stopSource',
    remedy: 'The registry returned another schema for this id: check that the url names the right registry.',
  },
  SCHEMA_INCOMPATIBLE: { action: 'stopSource', remedy: 'Register a compatible schema, or use another topic.' },
  SCHEMA_NOT_REGISTERED: {
    action: 'stopSource',
    remedy:
      'Run `spconnect schemas register`, then `spconnect restart <source>`; or set schemaRegistry.register: true.',
  },
  RECORD_UNREADABLE: {
    action: 'stopSource',
    remedy:
      'The value is not Avro of a known schema: look for another producer on the topic, and for a schema that the registry lost.',
  },
  TABLE_INCOMPLETE: {
    action: 'reopenWriter',
    remedy: 'None: the table of instruments is read again, because the registry now has a schema that was missing.',
  },
  TOO_MANY_DIFFERENCES: {
    action: 'exit',
    remedy:
      'Check that the connector runs, wait for its walk to end, or check prefix, referenceData.url and the filter.',
  },
  DEAD_LETTER_UNKNOWN: {
    action: 'exit',
    remedy: 'See `spconnect dead-letters list` for the ids; dead letters are kept for 30 days.',
  },
  TOPIC_REPLACED: {
    action: 'retry',
    remedy:
      'None: a walk fills an instruments topic again, and prices are requested again. All other topics begin empty.',
  },
  TOPIC_DELETED: {
    action: 'retry',
    remedy: 'Create the topic as the message says. A walk fills an instruments topic again, then prices are requested.',
  },
  KAFKA_UNREACHABLE: {
    action: 'retry',
    remedy: 'Start the brokers, or correct kafka.brokers, kafka.ssl, kafka.sasl or the network to the brokers.',
  },
  TOPIC_MISSING: {
    action: 'exit',
    remedy:
      'Start the connector, which creates the topic unless topics.create is false, or run `spconnect topics create`.',
  },
  TOPIC_NOT_CREATED: {
    action: 'exit',
    remedy:
      'Correct topics.replicationFactor or the rights of the account, as the message says, or create the topic yourself.',
  },
  TOPIC_MISMATCH: { action: 'exit', remedy: 'Change the topic as the message says, or use another topic.' },
  TOPIC_REFUSED: {
    action: 'stopSource',
    remedy: 'Correct what the message names (topic, rights, max.message.bytes), then run `spconnect restart <source>`.',
  },
  WRITER_REFUSED: {
    action: 'stopSource',
    remedy:
      'Give the account the right that the message names, then restart the source; or correct the setting, then restart the connector.',
  },
  TRANSACTION_FAILED: {
    action: 'reopenWriter',
    remedy: 'None: the writer opens again and reads the offset again. If it repeats, check the quotas of the brokers.',
  },
  TRANSACTION_HANGS: {
    action: 'retrySlowly',
    remedy: 'Find the transaction with `kafka-transactions.sh` as the message says, and abort it.',
  },
  WRITER_FENCED: {
    action: 'reopenWriter',
    remedy: 'If the error repeats, another process uses the same topic prefix: give each installation its own prefix.',
  },
  WRITER_IDS_SHARED: {
    action: 'stopSource',
    remedy:
      'Another process uses the same topic prefix: give each installation its own prefix, then restart the source.',
  },
  WRITER_CLOSED: { action: 'reopenWriter', remedy: 'None: open the writer before writing.' },
} as const satisfies Record<string, { action: ErrorAction; remedy: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorDetails {
  readonly cause?: unknown;
  /** The wait that the other side requested, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Structured fields for the log, without secrets, whole URLs or values of records. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A failure that the caller must handle. Its code decides the action. */
export class ConnectorError extends Error {
  readonly code: ErrorCode;
  readonly action: ErrorAction;
  readonly retryAfterMs: number | undefined;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ConnectorError';
    this.code = code;
    this.action = ERROR_CODES[code].action;
    this.retryAfterMs = details.retryAfterMs;
    this.fields = details.fields ?? {};
  }
}

/** Matches the beginning of a sentence or clause that gives advice. */
const ADVICE =
  /(?:^|[.;:]\s|,\sor\s)(?:ask|change|check|compare|correct|create|delete|do|find|give|install|look|lower|name|raise|remove|replace|restart|restore|set|start|stop|unset|use|wait)\s/im;

/** The remedy of an error for an operator. If the source's name is known, the commands contain this name. */
export function remedyOf(
  { code, fields }: Pick<ConnectorError, 'code' | 'fields'>,
  source: unknown = fields.source,
): string {
  const remedy = ERROR_CODES[code].remedy.replace(/^None: /, 'Nothing to do: ');
  return typeof source === 'string' ? remedy.replaceAll('<source>', source) : remedy;
}

/**
 * Returns the remedy to show after the message of an error. If the message already gives advice, returns an empty text,
 * because this advice is more exact than the remedy. But a remedy with `spconnect` commands is always returned.
 */
export function adviceBehind(error: Pick<ConnectorError, 'code' | 'message' | 'fields'>, source?: string): string {
  const remedy = remedyOf(error, source);
  return ADVICE.test(error.message) && !remedy.includes('`spconnect ') ? '' : remedy;
}
