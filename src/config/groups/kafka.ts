import { z } from 'zod';
import { isLoopback } from '../../support/loopback.ts';
import { crossCheck } from '../cross-check.ts';
import type { SecretReader } from '../secret.ts';
import { duration, flag, group, nullable, oneOf, pemFile, setting, text } from '../setting.ts';
import { saslSettings } from './sasl.ts';

const BROKER = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):[0-9]{1,5}$/;
const WANTED_BROKERS = 'one or more host:port, separated by commas, like kafka-1:9092,kafka-2:9092';

const broker = text(WANTED_BROKERS, BROKER);
const brokers = z
  .union([z.string().transform(splitAtCommas), z.array(z.string())])
  .transform((given) => given.flatMap(splitAtCommas))
  .pipe(z.array(broker).min(1).max(100))
  .meta({ wanted: WANTED_BROKERS });

export function kafkaSettings(secrets: SecretReader) {
  const settings = group({
    brokers: setting(brokers, 'host:port of some brokers, separated by commas or as a list.'),
    compression: setting(oneOf(['zstd', 'gzip', 'none']), 'Of the records that we write: zstd, gzip or none.', 'zstd'),
    transactionTimeout: setting(
      duration('5s', '15m'),
      'After this the broker aborts a transaction that was left open.',
      '60s',
    ),
    sessionTimeout: setting(
      duration('1s', '5m'),
      'A replica without a heartbeat for this long loses its work to the others; brokers allow no less than 6s by default.',
      '6s',
    ),
    ssl: setting(
      tlsSettings(secrets),
      'true, or the PEM files of a private authority and of our certificate, for TLS.',
      false,
    ),
    sasl: setting(nullable(saslSettings(secrets)), 'The login at the brokers; needs TLS.', null),
  });
  return crossCheck(settings, ({ brokers: list, ssl, sasl }, report) => {
    if (ssl && typeof ssl === 'object' && Boolean(ssl.cert) !== Boolean(ssl.key)) {
      report(['ssl', ssl.cert ? 'key' : 'cert'], 'is missing: cert and key go together');
    }
    const remote = Array.isArray(list) && list.some((broker) => !isLoopback(hostOfBroker(String(broker))));
    if (sasl?.mechanism && !sasl.allowWithoutTls && !ssl && remote) {
      const what = sasl.mechanism === 'oauthbearer' ? 'token' : 'password';
      report(['sasl'], `would send the ${what} in clear; set kafka.ssl: true`);
    }
  }).transform(({ transactionTimeout, sessionTimeout, ...rest }) => ({
    ...rest,
    transactionTimeoutMs: transactionTimeout,
    sessionTimeoutMs: sessionTimeout,
  }));
}

/** Null when TLS is off. Verification cannot be switched off. A group, so that each part can come from the environment. */
function tlsSettings(secrets: SecretReader) {
  const settings = group({
    enabled: setting(flag(), 'Whether the connections are encrypted.', true),
    ca: setting(nullable(pemFile(secrets)), 'PEM file of the authorities to trust.', null),
    cert: setting(nullable(pemFile(secrets)), 'PEM file of our client certificate; needs key.', null),
    key: setting(nullable(pemFile(secrets)), 'PEM file of its private key.', null),
  });
  const files = crossCheck(settings, ({ enabled, ...pem }, report) => {
    const [unused] = Object.entries(pem).find(([, file]) => file) ?? [];
    if (enabled === false && unused !== undefined) {
      report([unused], 'is given, and TLS is off; set kafka.ssl.enabled: true (KAFKA_SSL=true)');
    }
  });
  return z
    .union([flag(), files])
    .transform((given) => {
      if (typeof given === 'boolean') return given ? { ca: null, cert: null, key: null } : null;
      const { enabled, ...pem } = given;
      return enabled ? pem : null;
    })
    .meta({ wanted: 'true, false, or { enabled, ca, cert, key }' });
}

function splitAtCommas(given: string): string[] {
  return given.split(',').map((part) => part.trim());
}

/** The host of `host:port` or `[::1]:port`. */
function hostOfBroker(broker: string): string {
  return broker.slice(0, broker.lastIndexOf(':'));
}
