import { z } from 'zod';
import { isLoopback } from '../../support/loopback.ts';
import type { SecretReader } from '../secret.ts';
import {
  crossCheck,
  duration,
  flag,
  group,
  inMilliseconds,
  nullable,
  oneOf,
  pemFile,
  type Report,
  secret,
  setting,
  text,
  type Unchecked,
  withSecretFiles,
} from '../setting.ts';
import { checkClient, clientSettings } from './authentication.ts';
import { baseUrl, checkPair, pemSettings, proxySettings, requireTls } from './endpoint.ts';

const WANTED_EXTENSIONS = 'names and values, like { logicalCluster: lkc-1 }, or the text logicalCluster=lkc-1,pool=2';
const LONGEST_SHOWN_NAME = 40;
const EXTENSION_NAME = /^(?!auth$)[A-Za-z]{1,100}$/;
const EXTENSION_VALUE = /^[!-~][ -~]{0,999}$/;

/** SASL extensions in the form of RFC 7628 (3.1). An environment variable gives all extensions as one text. */
const extensions = z
  .preprocess(
    (given) => (typeof given === 'string' ? Object.fromEntries(given.split(',').map(splitAtEquals)) : given),
    z.record(z.string(), z.string()),
  )
  .superRefine((given, { addIssue }) => {
    for (const [name, value] of Object.entries(given)) {
      // A long text is perhaps a token.
      const shown = name.length > LONGEST_SHOWN_NAME ? 'a long name' : JSON.stringify(name);
      if (!EXTENSION_NAME.test(name)) {
        addIssue(`found ${shown}; expected a name of 1 to 100 letters that is not auth`);
      } else if (!EXTENSION_VALUE.test(value)) {
        addIssue(
          `found ${value === '' ? 'no value' : 'a wrong value'} of ${shown}; expected 1 to 1000 printable ASCII characters`,
        );
      }
    }
  })
  .meta({ wanted: WANTED_EXTENSIONS });

const OF_PASSWORDS = ['username', 'password'] as const;
// Not `algorithm`, which has a default, and not proxy, which other parts can share.
const OF_CLIENTS = [
  ...(['clientId', 'clientSecret', 'clientAuthentication', 'privateKey', 'keyId'] as const),
  ...(['assertionAudience', 'audience', 'resource', 'scope', 'ca'] as const),
];
const OF_TOKENS = ['token', 'tokenUrl', ...OF_CLIENTS, 'extensions'] as const;
const BROKER = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):[0-9]{1,5}$/;
const WANTED_BROKERS = 'one or more host:port, separated by commas (kafka-1:9092,kafka-2:9092)';
const HIGHEST_PORT = 65_535;
const broker = text(WANTED_BROKERS, BROKER).refine((given) => !(Number(given.split(':').at(-1)) > HIGHEST_PORT));
const brokers = z
  .union([z.string().transform(splitAtCommas), z.array(z.string())])
  .transform((given) => given.flatMap(splitAtCommas))
  .pipe(z.array(broker).min(1).max(100))
  .meta({ wanted: WANTED_BROKERS });

export function kafkaSettings(secrets: SecretReader) {
  const settings = group({
    brokers: setting(brokers, 'host:port of some brokers, separated by commas or as a list.'),
    compression: setting(oneOf(['zstd', 'gzip', 'none']), 'The compression of records: zstd, gzip or none.', 'zstd'),
    transactionTimeout: setting(
      duration('5s', '15m'),
      'The broker aborts a transaction that is open for longer than this.',
      '60s',
    ),
    sessionTimeout: setting(
      duration('1s', '5m'),
      'A replica without a heartbeat for this long loses its work to other replicas. By default, brokers allow 6s or more.',
      '6s',
    ),
    ssl: setting(
      tlsSettings(secrets),
      'true, or the PEM files of a private authority and of our certificate, for TLS.',
      false,
    ),
    sasl: setting(nullable(saslSettings(secrets)), 'The login at the brokers; needs TLS.', null),
  });
  return crossCheck(
    settings,
    ({ brokers: list, ssl, sasl }, report) => {
      if (ssl && typeof ssl === 'object') checkPair(ssl, ['ssl'], report);
      const remote =
        Array.isArray(list) && list.some((one) => typeof one === 'string' && !isLoopback(one.replace(/:\d*$/, '')));
      if (sasl?.mechanism && !sasl.allowWithoutTls && !ssl && remote) {
        const what = sasl.mechanism === 'oauthbearer' ? 'token' : 'password';
        report(['sasl'], `would send the ${what} without encryption; set kafka.ssl: true`);
      }
    },
    ['sasl.mechanism'],
  ).transform(inMilliseconds('transactionTimeout', 'sessionTimeout'));
}

/** The result is null if TLS is off. Certificates are always verified. Each setting has an environment variable. */
function tlsSettings(secrets: SecretReader) {
  const settings = group({
    enabled: setting(flag(), 'Encrypt the connections.', true),
    ...pemSettings(secrets, 'PEM file of the authorities to trust.'),
  });
  const files = crossCheck(settings, ({ enabled, ...pem }, report) => {
    const [unused] = Object.entries(pem).find(([, file]) => file) ?? [];
    if (enabled === false && unused !== undefined) {
      report([unused], 'is set, but TLS is off; set kafka.ssl.enabled: true (KAFKA_SSL=true)');
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

function saslSettings(secrets: SecretReader) {
  const settings = group({
    mechanism: setting(
      nullable(oneOf(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])),
      'plain, scram-sha-256, scram-sha-512 or oauthbearer; null: no login.',
      null,
    ),
    username: setting(nullable(text('text in quotes')), 'The user, for plain and scram.', null),
    password: setting(nullable(secret(secrets, 'secret')), 'The password, or passwordFile.', null),
    token: setting(
      nullable(secret(secrets, 'token')),
      'A token that another program renews, for oauthbearer. Prefer tokenFile, which is read again for each login.',
      null,
    ),
    tokenUrl: setting(
      nullable(baseUrl('https://login.example/token')),
      'In place of token: the token endpoint, for oauthbearer by client credentials.',
      null,
    ),
    clientId: setting(nullable(text('text in quotes')), 'The client at the token endpoint.', null),
    ...clientSettings(secrets),
    scope: setting(nullable(text('scopes, like kafka')), 'The requested scope.', null),
    extensions: setting(nullable(extensions), 'SASL extensions that the brokers require, for oauthbearer.', null),
    ...proxySettings(secrets),
    ca: setting(nullable(pemFile(secrets, 'ca')), 'PEM file of the authorities to trust at the token endpoint.', null),
    allowWithoutTls: setting(
      flag(),
      'Send the login over networks without TLS: for tests, never in production.',
      false,
    ),
  });
  const checked = crossCheck(settings, checkMechanism, ['mechanism']).transform(({ mechanism, ...rest }) =>
    mechanism === null ? null : { mechanism, ...rest },
  );
  return withSecretFiles(['password', 'token', 'clientSecret', 'proxy'], checked).meta({
    wanted: '{ mechanism, username, password }, or { mechanism: oauthbearer, … }',
  });
}

type Checked = Unchecked<Readonly<Record<string, unknown>>>;

async function checkMechanism(value: Checked, report: Report): Promise<void> {
  const { mechanism } = value;
  const given = (names: readonly string[]) => names.filter((name) => value[name]);
  if (!mechanism) {
    const [one] = given([...OF_PASSWORDS, ...OF_TOKENS]);
    if (one !== undefined)
      report(['mechanism'], `is missing, although ${one} is set; expected plain, scram-… or oauthbearer`);
  } else if (mechanism === 'oauthbearer') {
    for (const name of given(OF_PASSWORDS)) report([name], 'is not used by oauthbearer; remove it');
    await checkToken(value, report);
  } else {
    for (const name of given(OF_TOKENS)) report([name], `is not used by ${mechanism}; remove it, or set oauthbearer`);
    for (const name of OF_PASSWORDS.filter((name) => !value[name])) report([name], `is missing; ${mechanism} needs it`);
  }
}

async function checkToken(value: Checked, report: Report): Promise<void> {
  const { token, tokenUrl, clientId, allowWithoutTls } = value;
  if (token && tokenUrl) report(['token'], 'is given in addition to tokenUrl; keep one of them');
  else if (token) {
    for (const name of OF_CLIENTS.filter((one) => value[one]))
      report([name], 'is not used with token; remove it, or set tokenUrl in place of token');
  } else {
    if (!tokenUrl) report(['tokenUrl'], 'is missing; oauthbearer needs tokenUrl and a client, or tokenFile');
    if (!clientId) report(['clientId'], 'is missing; tokenUrl needs a client');
    await checkClient(value, report);
    if (allowWithoutTls !== true) requireTls(tokenUrl, ['tokenUrl'], 'use https', report);
  }
}

function splitAtEquals(pair: string): [string, string] {
  const [name = '', ...value] = pair.split('=');
  return [name.trim(), value.join('=').trim()];
}
