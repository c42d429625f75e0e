import { ConnectorError } from '../errors.ts';

/** Gives a secret's present value; read at each use, so that a rotated file counts without a restart. */
export type SecretSource = () => Promise<string>;

// Text that a header field carries unchanged.
const PRINTABLE = /^[\u0021-\u007e](?:[\u0020-\u007e]{0,16382}[\u0021-\u007e])?$/;

/**
 * The secret's present value. TOKEN_FAILED, which is tried again, when it cannot be read or sent: the file may be in
 * the middle of its rotation.
 *
 * @param setting what messages call it, such as `referenceData.auth.token`
 */
export async function readSecret(secret: SecretSource, setting: string): Promise<string> {
  const value = await readEncodedSecret(secret, setting);
  if (!isSendable(value)) {
    throw new ConnectorError(
      'TOKEN_FAILED',
      `${setting} holds characters that no header can carry; use visible ASCII.`,
    );
  }
  return value;
}

/** The same for a secret that is encoded before it is sent: it may hold any characters. */
export async function readEncodedSecret(secret: SecretSource, setting: string): Promise<string> {
  let value: string;
  try {
    value = await secret();
  } catch (cause) {
    throw new ConnectorError('TOKEN_FAILED', `${setting} cannot be read.`, { cause });
  }
  if (value === '') throw new ConnectorError('TOKEN_FAILED', `${setting} is empty.`);
  return value;
}

/** True for text that a header field carries unchanged: visible ASCII, spaces within, at most 16 KiB. */
export function isSendable(value: string): boolean {
  return PRINTABLE.test(value);
}
