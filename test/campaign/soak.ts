import { SOAK_FAULTS } from './plan.ts';
import { type ProgramOptions, programOf, runProgram } from './program.ts';
import { createSampling } from './trends.ts';

const description =
  'The same processes from beginning to end, while faults come and go that do not kill them. At the end everything is ' +
  'verified, and what a process holds must not have grown. Ends with 1 at a violation, or at a slope above its bound.';
// As in production.
const defaults = { minutes: 30, brokers: 3, connectors: 1, faults: SOAK_FAULTS };
const options = programOf('soak', description, defaults).parse().opts<ProgramOptions>();

const sampling = createSampling(options.minutes);
const unending = Number.POSITIVE_INFINITY;
const own = {
  faults: options.faults ?? SOAK_FAULTS,
  kills: unending,
  rounds: unending,
  roundsPerLife: unending,
  subject: { instruments: 120, changesPerSecond: 4, priceRefresh: '60s' },
  observe: sampling.observe,
};
await runProgram('soak', options, own, sampling.trends);
