import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { wholeNumberOption } from '../../src/cli/numbers.ts';
import { closingOf } from './closing.ts';
import { startGround } from './ground.ts';
import { namesOf } from './names-option.ts';
import { FAULT_NAMES, type FaultName } from './plan.ts';
import { runCampaign } from './run.ts';

interface Options {
  readonly kills: number;
  readonly minutes: number;
  readonly rounds?: number;
  readonly seed: number;
  readonly brokers: number;
  readonly connectors: number;
  readonly replicas?: number;
  readonly faults?: readonly FaultName[];
  readonly json?: string;
  readonly logs: string;
}

const values = new Command('npm run campaign --')
  .description(
    'Faults on a real Kafka of its own, round after round, until so many processes were killed or the time is over. ' +
      'Ends with 1 at the first violation. test/campaign/README.md describes the faults and what is verified.',
  )
  .option('--kills <count>', 'end with the round in which so many processes have been killed', wholeNumberOption, 100)
  .option('--minutes <count>', 'begin no round after this time', wholeNumberOption, 20)
  .option('--rounds <count>', 'end after so many rounds', wholeNumberOption)
  .option('--seed <number>', 'draws faults and moments', wholeNumberOption, 1)
  .option('--brokers <count>', 'brokers to start, 1 or 3', wholeNumberOption, 1)
  .option('--connectors <count>', 'connectors side by side, each with a provider of its own', wholeNumberOption, 2)
  .option('--replicas <count>', 'processes of each connector; by default two and one in turn', wholeNumberOption)
  .option('--faults <names>', `kinds of faults (default: ${FAULT_NAMES.join(',')})`, namesOf(FAULT_NAMES))
  .option('--json <file>', 'write the report there')
  .option('--logs <folder>', 'keep the log of every process there', join(tmpdir(), `campaign-${process.pid}`))
  .parse()
  .opts<Options>();
const stop = new AbortController();
// Ctrl-C below npm comes twice, from the terminal and from npm.
process.on('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));
process.on('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));

const command = `npm run campaign -- ${process.argv.slice(2).join(' ')}`;
const kafkaFolder = join(values.logs, `kafka-${process.pid}`);
const ground = await startGround(values.brokers, kafkaFolder, stop.signal);
let isKept = false;
try {
  const report = await runCampaign({
    ground,
    command,
    seed: values.seed,
    faults: values.faults ?? FAULT_NAMES,
    connectors: values.connectors,
    replicas: values.replicas,
    kills: values.kills,
    minutes: values.minutes,
    rounds: values.rounds ?? Number.POSITIVE_INFINITY,
    roundsPerLife: 12,
    folder: values.logs,
    subject: { instruments: 120, changesPerSecond: 4, priceRefresh: '30s' },
    signal: stop.signal,
    say: (line) => console.log(line),
  });
  const { exitCode, lines } = closingOf(report, [], { logs: values.logs, kafkaFolder });
  console.log(lines.join('\n'));
  process.exitCode = exitCode;
  isKept = report.violation !== null;
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await ground.stop();
  if (!isKept) rmSync(kafkaFolder, { recursive: true, force: true });
}
process.exit();
