import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { wholeNumberOption } from '../../src/commands/shell/option-values.ts';
import { closingOf } from './closing.ts';
import { startGround } from './ground.ts';
import { namesOf } from './names-option.ts';
import type { FaultName } from './plan.ts';
import { type CampaignOptions, runCampaign } from './run.ts';
import type { Trend } from './trends.ts';

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
    const { exitCode, lines } = closingOf(report, trends, { logs, kafkaFolder });
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
