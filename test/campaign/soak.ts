import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { wholeNumberOption } from '../../src/cli/numbers.ts';
import { closingOf } from './closing.ts';
import { startGround } from './ground.ts';
import { namesOf } from './names-option.ts';
import { type FaultName, SOAK_FAULTS } from './plan.ts';
import { runCampaign } from './run.ts';
import { createSampling } from './sampling.ts';

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly brokers: number;
  readonly connectors: number;
  readonly faults?: readonly FaultName[];
  readonly json?: string;
  readonly logs: string;
}

const values = new Command('npm run soak --')
  .description(
    'The same processes from beginning to end, while faults come and go that do not kill them. At the end everything is ' +
      'verified, and what a process holds must not have grown. Ends with 1 at a violation, or at a slope above its bound.',
  )
  .option('--minutes <count>', 'begin no round after this time', wholeNumberOption, 30)
  .option('--seed <number>', 'draws faults and moments', wholeNumberOption, 1)
  // One that is killed without a replica may forget a commit that it has acknowledged; no client can make that good.
  .option('--brokers <count>', 'brokers to start, 1 or 3', wholeNumberOption, 3)
  .option('--connectors <count>', 'connectors side by side, each with a provider of its own', wholeNumberOption, 1)
  .option('--faults <names>', `kinds of faults (default: ${SOAK_FAULTS.join(',')})`, namesOf(SOAK_FAULTS))
  .option('--json <file>', 'write the report and the slopes there')
  .option('--logs <folder>', 'keep the log of every process there', join(tmpdir(), `soak-${process.pid}`))
  .parse()
  .opts<Options>();
const stop = new AbortController();
// Ctrl-C below npm comes twice, from the terminal and from npm.
process.on('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));
process.on('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));

const command = `npm run soak -- ${process.argv.slice(2).join(' ')}`;
const sampling = createSampling(values.minutes);
const kafkaFolder = join(values.logs, `kafka-${process.pid}`);
const ground = await startGround(values.brokers, kafkaFolder, stop.signal);
let isKept = false;
try {
  const report = await runCampaign({
    ground,
    command,
    seed: values.seed,
    faults: values.faults ?? SOAK_FAULTS,
    connectors: values.connectors,
    kills: Number.POSITIVE_INFINITY,
    minutes: values.minutes,
    rounds: Number.POSITIVE_INFINITY,
    roundsPerLife: Number.POSITIVE_INFINITY,
    folder: values.logs,
    subject: { instruments: 120, changesPerSecond: 4, priceRefresh: '60s' },
    signal: stop.signal,
    say: (line) => console.log(line),
    observe: sampling.observe,
  });
  const trends = sampling.trends();
  const { exitCode, lines } = closingOf(report, trends, { logs: values.logs, kafkaFolder });
  console.log(lines.join('\n'));
  process.exitCode = exitCode;
  isKept = report.violation !== null;
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ...report, trends }, null, 2)}\n`);
} finally {
  await ground.stop();
  if (!isKept) rmSync(kafkaFolder, { recursive: true, force: true });
}
process.exit();
