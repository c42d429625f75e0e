import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type { Terminal } from '../terminal.ts';

/** The usual settings file needs these too; a user who only looks at what is on Kafka may have none of them. */
const NOT_NEEDED = {
  REFERENCE_DATA_URL: 'https://localhost',
  AUTH_TOKEN_URL: 'https://localhost',
  CLIENT_ID: 'not needed',
  CLIENT_SECRET: 'not-needed-by-this-command',
};

/** The settings for a command that asks Kafka, or a running connector, and never the provider. */
export function loadWithoutProvider(file: string, env: Terminal['env'], redaction: Redaction): Promise<Settings> {
  // An empty variable counts as not set. The file of the secret may be readable for the connector alone.
  const set = Object.entries(env).filter(([name, value]) => value !== '' && name !== 'CLIENT_SECRET_FILE');
  return loadSettings({ file, env: { ...NOT_NEEDED, ...Object.fromEntries(set) }, onSecret: redaction.register });
}
