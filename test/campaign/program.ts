import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { wholeNumberOption } from '../../src/commands/shell/option-values.ts';
import { startGround } from './ground.ts';
import type { FaultName } from './plan.ts';
import { type Report, tableOf } from './report.ts';
import { type CampaignOptions, runCampaign } from './run.ts';
import { type Trend, trendTable } from './trends.ts';

/** The options that campaign and soak have in common. */
export interface ProgramOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly brokers: number;
  readonly connectors: number;
  readonly faults?: readonly FaultName[];
  readonly json?: string;
  readonly logs: string;
}

interface Defaults extends Pick<ProgramOptions, 'minutes' | 'brokers' | 'connectors'> {
  readonly faults: readonly FaultName[];
}

/** A program of `npm run`, with the options that both have. */
export function programOf(name: string, description: string, defaults: Defaults): Command {
  const { minutes, brokers, connectors, faults } = defaults;
  return new Command(`npm run ${name} --`)
    .description(description)
    .option('--minutes <count>', 'begin no round after this time', wholeNumberOption, minutes)
    .option('--seed <number>', 'draws faults and moments', wholeNumberOption, 1)
    .option('--brokers <count>', 'brokers to start, 1 or 3', wholeNumberOption, brokers)
    .option(
      '--connectors <count>',
      'connectors side by side, each with its own provider',
      wholeNumberOption,
      connectors,
    )
    .option('--faults <names>', `kinds of faults (default: ${faults.join(',')})`, namesOf(faults))
    .option('--json <file>', 'write the report there')
    .option('--logs <folder>', 'keep the log of every process there', join(tmpdir(), `${name}-${process.pid}`));
}

type Own = Omit<
  CampaignOptions,
  'ground' | 'command' | 'seed' | 'connectors' | 'minutes' | 'folder' | 'signal' | 'say'
>;

/** Runs a campaign on a Kafka of its own and ends the process: with 1 at a violation, or at a slope above its bound. */
export async function runProgram(
  name: string,
  { brokers, logs, json, seed, connectors, minutes }: ProgramOptions,
  own: Own,
  trendsOf?: () => readonly Trend[],
): Promise<never> {
  const stop = new AbortController();
  // Ctrl-C below npm comes twice, from the terminal and from npm.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  const kafkaFolder = join(logs, `kafka-${process.pid}`);
  const ground = await startGround(brokers, kafkaFolder, stop.signal);
  let isKept = false;
  try {
    const command = `npm run ${name} -- ${process.argv.slice(2).join(' ')}`;
    const say = (line: string) => console.log(line);
    const common = { ground, command, seed, connectors, minutes, folder: logs, signal: stop.signal, say };
    const report = await runCampaign({ ...own, ...common });
    const trends = trendsOf?.() ?? [];
    const { exitCode, lines } = closingOf(report, trends, logs, kafkaFolder);
    console.log(lines.join('\n'));
    process.exitCode = exitCode;
    isKept = report.violation !== null;
    const result = trendsOf === undefined ? report : { ...report, trends };
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  } finally {
    await ground.stop();
    if (!isKept) rmSync(kafkaFolder, { recursive: true, force: true });
  }
  process.exit();
}

/**
 * How a program ends: with 1 at a violation or a leak, and then with the command that shows it again. `trends` is empty
 * for a campaign, whose processes do not live long enough for any. The data of Kafka is kept after a violation alone.
 */
function closingOf(report: Report, trends: readonly Trend[], logs: string, kafkaFolder: string) {
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

/** Reads an option that is a list of names, separated by commas, each of which must be one of `known`. */
function namesOf<const Name extends string>(known: readonly Name[]): (text: string) => readonly Name[] {
  return (text) =>
    text.split(',').map((name) => {
      const found = known.find((one) => one === name);
      if (found === undefined) throw new InvalidArgumentError(`"${name}" is none of ${known.join(', ')}.`);
      return found;
    });
}
