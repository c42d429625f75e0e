const DEFAULT_RUNS = 400;
const DEFAULT_SEED = 1;

/** How many runs: MODEL_RUNS, or enough for each change; `npm run test:all` has more. */
export function modelRuns(): number {
  return Number(process.env.MODEL_RUNS ?? DEFAULT_RUNS);
}

/** The same runs every day; MODEL_SEED gives others, or those of a report again. */
export function modelSeed(): number {
  return Number(process.env.MODEL_SEED ?? DEFAULT_SEED);
}
