import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { CommandContext } from '../command-context.ts';

type Given = Pick<CommandContext, 'env' | 'redaction'>;

/*
 * The usual settings file needs more variables than a command does that asks only the provider, or only Kafka: what is
 * not set gets a value that is never used.
 */

const KAFKA_NOT_NEEDED = { KAFKA_BROKERS: 'localhost:9092', SCHEMA_REGISTRY_URL: 'http://localhost' };
const PROVIDER_NOT_NEEDED = {
  REFERENCE_DATA_URL: 'https://localhost',
  AUTH_TOKEN_URL: 'https://localhost',
  CLIENT_ID: 'not needed',
  CLIENT_SECRET: 'not-needed-by-this-command',
};

/** Files that may be readable for the connector alone, and what says that they are needed. */
const PROVIDER_FILES = [
  'CLIENT_SECRET_FILE',
  'CLIENT_AUTHENTICATION',
  'CLIENT_KEY_FILE',
  'PROVIDER_CA_FILE',
  'PROVIDER_CERT_FILE',
  'PROVIDER_KEY_FILE',
];

/** The settings for a command that asks only the provider. */
export function loadWithoutKafka(file: string, { env, redaction }: Given): Promise<Settings> {
  return loadSettings({ file, env: { ...KAFKA_NOT_NEEDED, ...setIn(env) }, onSecret: redaction.register });
}

/** The settings for a command that asks Kafka, or a running connector, and never the provider. */
export function loadWithoutProvider(file: string, { env, redaction }: Given): Promise<Settings> {
  const set = Object.entries(setIn(env)).filter(([name]) => !PROVIDER_FILES.includes(name));
  return loadSettings({
    file,
    env: { ...PROVIDER_NOT_NEEDED, ...Object.fromEntries(set) },
    onSecret: redaction.register,
  });
}

/** An empty variable counts as not set. */
function setIn(env: Given['env']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
