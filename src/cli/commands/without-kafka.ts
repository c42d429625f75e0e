import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type { Terminal } from '../terminal.ts';

/** The usual settings file needs these too; a user who only asks the provider may have neither. */
const NOT_NEEDED = { KAFKA_BROKERS: 'localhost:9092', SCHEMA_REGISTRY_URL: 'http://localhost' };

/** The settings for a command that asks only the provider. */
export function loadWithoutKafka(file: string, env: Terminal['env'], redaction: Redaction): Promise<Settings> {
  // An empty variable counts as not set.
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  return loadSettings({ file, env: { ...NOT_NEEDED, ...set }, onSecret: redaction.register });
}
