import { METRICS } from '../../src/observability/metric-table/all.ts';
import type { MetricDefinition } from '../../src/observability/metric-table/definition.ts';
import { readAlerts } from './alerts.ts';

/** What the README says of each metric, in the order of the table in the code: name, kind, labels, what it tells. */
export function metricRows(): readonly (readonly string[])[] {
  return Object.entries<MetricDefinition>(METRICS).map(([name, { type, help, labels, meaning }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(' '),
    `${help} ${meaning}`,
  ]);
}

/** What the README says of each alert: its name with the way to its paragraph, how severe it is, what has happened. */
export function alertRows(): readonly (readonly string[])[] {
  return readAlerts().map(({ alert, labels, annotations }) => [
    `[${alert}](${annotations.runbook})`,
    labels.severity ?? '',
    annotations.summary ?? '',
  ]);
}
