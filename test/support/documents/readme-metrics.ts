import { METRICS } from '../../../src/observability/metric-table/all.ts';
import type { MetricDefinition } from '../../../src/observability/metric-table/definition.ts';
import { readAlerts } from './alerts.ts';

/** The rows of the table of metrics, in the order of the table in the code: name, kind, labels, meaning. */
export function metricRows(): readonly (readonly string[])[] {
  return Object.entries<MetricDefinition>(METRICS).map(([name, { type, help, labels, meaning }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(' '),
    `${help} ${meaning}`,
  ]);
}

/** The rows of the table of alerts: name with a link to its paragraph of the runbook, severity, what has happened. */
export function alertRows(): readonly (readonly string[])[] {
  return readAlerts().map(({ alert, labels, annotations }) => [
    `[${alert}](#${annotations.runbook?.split('#')[1]})`,
    labels.severity ?? '',
    annotations.summary ?? '',
  ]);
}
