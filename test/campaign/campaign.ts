import { wholeNumberOption } from '../../src/commands/shell/option-values.ts';
import { FAULT_NAMES } from './plan.ts';
import { type ProgramOptions, programOf, runProgram } from './program.ts';

interface Options extends ProgramOptions {
  readonly kills: number;
  readonly rounds?: number;
  readonly replicas?: number;
}

const description =
  'Faults on a real Kafka of its own, round after round, until so many processes were killed or the time is over. ' +
  'Ends with 1 at the first violation. test/campaign/README.md describes the faults and what is verified.';
const defaults = { minutes: 20, brokers: 1, connectors: 2, faults: FAULT_NAMES };
const options = programOf('campaign', description, defaults)
  .option('--kills <count>', 'end with the round in which so many processes have been killed', wholeNumberOption, 100)
  .option('--rounds <count>', 'end after so many rounds', wholeNumberOption)
  .option('--replicas <count>', 'processes of each connector; by default two and one in turn', wholeNumberOption)
  .parse()
  .opts<Options>();

await runProgram('campaign', options, {
  faults: options.faults ?? FAULT_NAMES,
  replicas: options.replicas,
  kills: options.kills,
  rounds: options.rounds ?? Number.POSITIVE_INFINITY,
  roundsPerLife: 12,
  subject: { instruments: 120, changesPerSecond: 4, priceRefresh: '30s' },
});
