import { METRICS, type MetricDefinition } from '../../../src/observe/metric-table.ts';

/** The rows of the table of metrics, in the order of the table in the code: name, labels, meaning. */
export function metricRows(): readonly (readonly string[])[] {
  return Object.entries<MetricDefinition>(METRICS).map(([name, { help, labels, meaning }]) => [
    `\`${name}\``,
    labels.map((label) => `\`${label}\``).join(' '),
    [help, meaning].filter(Boolean).join(' '),
  ]);
}
