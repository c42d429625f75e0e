import { type Report, tableOf } from './report.ts';
import { type Trend, trendTable } from './trends.ts';

/** How a program of this folder ends: with 1 at a violation or a leak, and then with the command that shows it again. */
export interface Closing {
  readonly exitCode: 0 | 1;
  readonly lines: readonly string[];
}

/** Folders that are left for looking into a violation. */
export interface Kept {
  /** The log of every process. */
  readonly logs: string;
  /** The brokers' data and logs, kept after a violation alone: record by record, they show what a broker remembered. */
  readonly kafkaFolder: string;
}

/** `trends` is empty for a campaign, whose processes do not live long enough for any. */
export function closingOf(report: Report, trends: readonly Trend[], { logs, kafkaFolder }: Kept): Closing {
  const isGood = report.violation === null && trends.every(({ isLeak }) => !isLeak);
  const loads = report.load.map((load) => load.toFixed(1)).join(' to ');
  const lines = [
    `\n${tableOf(report.rows)}`,
    ...(trends.length > 0 ? [`\n${trendTable(trends)}`] : []),
    `\n${JSON.stringify(report.totals)}`,
    `load ${loads}, seed ${report.seed}`,
  ];
  if (isGood) return { exitCode: 0, lines };
  const kafka = report.violation === null ? [] : [`The data and logs of Kafka: ${kafkaFolder}`];
  const seen = [`To see it again: ${report.command}`, `The logs of all replicas: ${logs}`, ...kafka];
  return { exitCode: 1, lines: [...lines, ...seen] };
}
