import { stringify } from 'yaml';
import type { Settings } from './settings.ts';

/** The settings as YAML, for people: durations in milliseconds, secrets only as where they come from. */
export function printSettings(settings: Settings): string {
  return stringify(JSON.parse(JSON.stringify(settings)));
}
