import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { wholeNumberOption } from '../../src/commands/shell/option-values.ts';
import { startBenchStack } from './bench-stack.ts';
import { benchDecoding } from './decoding-bench.ts';
import { benchPrices, benchRestart, benchSteady } from './prices-bench.ts';
import { benchStarts } from './start-bench.ts';
import { benchBacklog, benchLatency } from './stream-bench.ts';
import { benchWalk } from './walk-bench.ts';

/** The figures that two results of the benchmark both have, with the ratio of the new one to the old one. */
function ratios(now: unknown, before: unknown, name = ''): object[] {
  if (typeof now === 'number' && typeof before === 'number') {
    return before === 0 ? [] : [{ figure: name, before, now, ratio: Math.round((now / before) * 100) / 100 }];
  }
  if (typeof now !== 'object' || typeof before !== 'object' || now === null || before === null) return [];
  const old = before as Record<string, unknown>;
  return Object.entries(now).flatMap(([key, value]) => ratios(value, old[key], name === '' ? key : `${name}.${key}`));
}

interface Options {
  readonly walk: readonly number[];
  readonly delay: readonly number[];
  readonly events: readonly number[];
  readonly polls: readonly number[];
  readonly backlog: readonly number[];
  readonly prices: readonly number[];
  readonly steady: readonly number[];
  readonly restart: readonly number[];
  readonly decoding: readonly number[];
  readonly start: readonly number[];
  readonly json?: string;
  readonly compare?: string;
}

const values = new Command('npm run bench --')
  .description(
    'The connector against a provider of ready bytes, on a real Kafka and registry. Provider, connector, broker and ' +
      'registry are processes on this machine and share its cores; CPU and memory are those of the connector. Decoding ' +
      'alone is measured in this process. Sizes are lists, separated by commas; 0 leaves a part out.',
  )
  .option('--walk <sizes>', 'instruments of a walk', sizes, [50_000])
  .option('--delay <ms>', 'what the provider waits before each page of a walk', sizes, [0])
  .option('--events <counts>', 'events of the latency at a steady rate', sizes, [2_000])
  .option('--polls <ms>', 'poll intervals of the latency', sizes, [1_000, 100])
  .option('--backlog <counts>', 'events that wait at the start', sizes, [20_000])
  .option('--prices <sizes>', 'instruments that are priced as fast as possible', sizes, [50_000])
  .option('--steady <sizes>', 'instruments that are priced once a minute', sizes, [5_000])
  .option('--restart <sizes>', 'instruments of a restart', sizes, [50_000])
  .option('--decoding <sizes>', 'instruments of the page that is decoded', sizes, [1_000])
  .option('--start <counts>', 'starts until the first poll, by npm and without it', sizes, [5])
  .option('--json <file>', 'write the figures there, and not to the end of the output')
  .option('--compare <file>', 'show ratios to the figures of an earlier run')
  .parse()
  .opts<Options>();
const stop = new AbortController();
// Ctrl-C below npm comes twice, from the terminal and from npm.
process.on('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));

const DECODING_ROUNDS = 15;

const figures: Record<string, object[]> = {};
const startedMs = performance.now();

/** Measures a part for each of its sizes: progress goes to stderr, its table to stdout as soon as it is whole. */
async function part(
  name: string,
  sizes: readonly number[],
  measure: (size: number) => AsyncIterable<object> | Iterable<Promise<object>>,
): Promise<void> {
  const rows: object[] = [];
  figures[name] = rows;
  for (const size of sizes.filter((size) => size > 0)) {
    const seconds = () => `${Math.round((performance.now() - startedMs) / 1_000)} s`;
    process.stderr.write(`${seconds()}: ${name}, ${size} …\n`);
    for await (const row of measure(size))
      process.stderr.write(`${seconds()}: ${name}, ${size}: row ${rows.push(row)}\n`);
  }
  if (rows.length === 0) return;
  console.log(name);
  console.table(
    rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value !== 'object'))),
  );
}

async function* walks(size: number): AsyncGenerator<object> {
  for (const delayMs of values.delay) yield benchWalk(stack, size, delayMs);
}

async function* latencies(events: number): AsyncGenerator<object> {
  for (const pollMs of values.polls) yield benchLatency(stack, events, pollMs);
}

async function* prices(size: number): AsyncGenerator<object> {
  for (const delayMs of [0, 50]) yield benchPrices(stack, size, delayMs);
}

await part('decoding', values.decoding, (size) => benchDecoding(size, DECODING_ROUNDS));
const stack = await startBenchStack(stop.signal);
try {
  await part('walk', values.walk, walks);
  await part('latency', values.events, latencies);
  await part('backlog', values.backlog, (events) => [benchBacklog(stack, events)]);
  await part('prices', values.prices, prices);
  await part('steady', values.steady, (size) => [benchSteady(stack, size, 60)]);
  await part('restart', values.restart, (size) => [benchRestart(stack, size)]);
  await part('start', values.start, (starts) => benchStarts(stack, starts));
} finally {
  await stack.stop();
}

const result = { node: process.version, date: new Date().toISOString(), ...figures };
if (values.json === undefined) console.log(JSON.stringify(result));
else writeFileSync(values.json, JSON.stringify(result, null, 2));
if (values.compare !== undefined) {
  console.log(`Ratios to ${values.compare}`);
  console.table(ratios(result, JSON.parse(readFileSync(values.compare, 'utf8'))));
}

function sizes(text: string): readonly number[] {
  return text.split(',').map(wholeNumberOption);
}
