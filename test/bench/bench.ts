import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { wholeNumberOption } from '../../src/cli/numbers.ts';
import { startBenchStack } from './bench-stack.ts';
import { ratios } from './compare.ts';
import { benchDecoding } from './decoding-bench.ts';
import { benchPrices, benchRestart, benchSteady } from './prices-bench.ts';
import { benchStarts } from './start-bench.ts';
import { benchBacklog, benchLatency } from './stream-bench.ts';
import { benchWalk } from './walk-bench.ts';

interface Options {
  readonly walk: readonly number[];
  readonly delay: readonly number[];
  readonly compression: string;
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
  .option('--compression <names>', 'compressions of a walk', 'zstd')
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
for (const part of ['decoding', 'walk', 'latency', 'backlog', 'prices', 'steady', 'restart', 'start'])
  figures[part] = [];
for (const instruments of present(values.decoding)) {
  for await (const body of benchDecoding(instruments, DECODING_ROUNDS)) figures.decoding?.push(body);
}
const stack = await startBenchStack(stop.signal);
try {
  for (const size of present(values.walk)) {
    for (const delayMs of values.delay) {
      for (const codec of values.compression.split(','))
        figures.walk?.push(await benchWalk(stack, size, delayMs, codec));
    }
  }
  for (const events of present(values.events)) {
    for (const pollMs of values.polls) figures.latency?.push(await benchLatency(stack, events, pollMs));
  }
  for (const events of present(values.backlog)) figures.backlog?.push(await benchBacklog(stack, events));
  for (const size of present(values.prices)) {
    for (const delayMs of [0, 50]) figures.prices?.push(await benchPrices(stack, size, delayMs));
  }
  for (const size of present(values.steady)) figures.steady?.push(await benchSteady(stack, size, 60));
  for (const size of present(values.restart)) figures.restart?.push(await benchRestart(stack, size));
  for (const starts of present(values.start)) {
    for await (const way of benchStarts(stack, starts)) figures.start?.push(way);
  }
} finally {
  await stack.stop();
}

for (const [part, rows] of Object.entries(figures)) {
  if (rows.length === 0) continue;
  console.log(part);
  console.table(
    rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value !== 'object'))),
  );
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

function present(sizes: readonly number[]): readonly number[] {
  return sizes.filter((size) => size > 0);
}
