import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const ALERTS_FILE = new URL('../../../config/prometheus/alerts.yml', import.meta.url);

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The alert rules for Prometheus, in their order. */
export function readAlerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: readonly { rules: readonly Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}
