import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { wholeNumberOption } from '../../src/commands/shell/option-values.ts';
import { startGround } from './ground.ts';
import { FAULT_NAMES, type FaultName, SOAK_FAULTS } from './plan.ts';
import { type Report, tableOf } from './report.ts';
import { runCampaign } from './run.ts';
import { createSampling, type Trend, trendTable } from './trends.ts';

/*
 * node test/campaign/program.ts campaign|soak
 *
 * Runs on a Kafka of its own. Ends with 1 at a violation, or at a slope above its bound.
 */

const UNENDING = Number.POSITIVE_INFINITY;
const PROGRAMS = {
  campaign: {
    description:
      'Faults on a real Kafka of its own, round after round, until so many processes were killed or the time is over. ' +
      'Ends with 1 at the first violation. test/campaign/README.md describes the faults and what is verified.',
    defaults: { minutes: 20, brokers: 1, connectors: 2, kills: 100, faults: FAULT_NAMES },
    roundsPerLife: 12,
    priceRefresh: '30s',
  },
  soak: {
    description:
      'The same processes from beginning to end, while faults come and go that do not kill them. At the end everything ' +
      'is verified, and what a process holds must not have grown. Ends with 1 at a violation, or at a slope above its bound.',
    // As in production.
    defaults: { minutes: 30, brokers: 3, connectors: 1, kills: undefined, faults: SOAK_FAULTS },
    roundsPerLife: UNENDING,
    priceRefresh: '60s',
  },
};

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly brokers: number;
  readonly connectors: number;
  readonly faults: readonly FaultName[];
  readonly kills?: number;
  readonly rounds?: number;
  readonly replicas?: number;
  readonly json?: string;
  readonly logs: string;
}

const name = process.argv[2] === 'soak' ? 'soak' : 'campaign';
const args = process.argv.slice(3);
const { description, defaults, roundsPerLife, priceRefresh } = PROGRAMS[name];
const options = new Command(`npm run ${name} --`)
  .description(description)
  .option('--minutes <count>', 'begin no round after this time', wholeNumberOption, defaults.minutes)
  .option('--kills <count>', 'end with the round in which so many are killed', wholeNumberOption, defaults.kills)
  .option('--rounds <count>', 'end after so many rounds', wholeNumberOption)
  .option('--seed <number>', 'draws faults and moments', wholeNumberOption, 1)
  .option('--brokers <count>', 'brokers to start, 1 or 3', wholeNumberOption, defaults.brokers)
  .option('--connectors <count>', 'connectors, each with its own provider', wholeNumberOption, defaults.connectors)
  .option('--replicas <count>', 'processes of each connector; by default two and one in turn', wholeNumberOption)
  .option('--faults <names>', 'kinds of faults, separated by commas', namesOf, defaults.faults)
  .option('--json <file>', 'write the report there')
  .option('--logs <folder>', 'keep the log of every process there', join(tmpdir(), `${name}-${process.pid}`))
  .parse(args, { from: 'user' })
  .opts<Options>();

const { brokers, logs, json, minutes, replicas, kills = UNENDING, rounds = UNENDING } = options;
const stop = new AbortController();
// Ctrl-C below npm comes twice, from the terminal and from npm.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
const kafkaFolder = join(logs, `kafka-${process.pid}`);
const ground = await startGround(brokers, kafkaFolder, stop.signal);
let isKept = false;
try {
  const sampling = name === 'soak' ? createSampling(minutes) : undefined;
  const report = await runCampaign({
    ...options,
    replicas,
    kills,
    rounds,
    ground,
    command: `npm run ${name} -- ${args.join(' ')}`,
    roundsPerLife,
    subject: { instruments: 120, changesPerSecond: 4, priceRefresh },
    folder: logs,
    signal: stop.signal,
    say: (line) => console.log(line),
    ...(sampling !== undefined && { observe: sampling.observe }),
  });
  const trends = sampling?.trends() ?? [];
  isKept = report.violation !== null;
  process.exitCode = close(report, trends);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ...report, trends }, null, 2)}\n`);
} finally {
  await ground.stop();
  // The data of Kafka is kept after a violation alone.
  if (!isKept) rmSync(kafkaFolder, { recursive: true, force: true });
}
process.exit();

/** Writes how it ended, after a violation or a leak also the command that shows it again; returns the exit code. */
function close(report: Report, trends: readonly Trend[]): number {
  console.log(`\n${tableOf(report.rows)}`);
  if (trends.length > 0) console.log(`\n${trendTable(trends)}`);
  console.log(`\n${JSON.stringify(report.totals)}`);
  console.log(`load ${report.load.map((load) => load.toFixed(1)).join(' to ')}, seed ${report.seed}`);
  if (report.violation === null && trends.every(({ isLeak }) => !isLeak)) return 0;
  console.log(`To see it again: ${report.command}\nThe logs of all replicas: ${logs}`);
  if (report.violation !== null) console.log(`The data and logs of Kafka: ${kafkaFolder}`);
  return 1;
}

function namesOf(text: string): readonly FaultName[] {
  return text.split(',').map((name) => {
    const found = FAULT_NAMES.find((one) => one === name);
    if (found === undefined) throw new InvalidArgumentError(`"${name}" is none of ${FAULT_NAMES.join(', ')}.`);
    return found;
  });
}
