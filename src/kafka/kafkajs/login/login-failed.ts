/**
 * A login at a broker that failed for what the message says. kafkajs looks at the other members: it tries such a login
 * again, on a new connection. A refusal may pass, since a broker learns of a new signing key only when it meets it.
 */
export class LoginFailed extends Error {
  override readonly name = 'LoginFailed';
  readonly retriable = true;
  readonly type = 'ILLEGAL_SASL_STATE';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
  }
}
