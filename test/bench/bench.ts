import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startBenchStack } from './bench-stack.ts';
import { ratios } from './compare.ts';
import { benchDecoding } from './decoding-bench.ts';
import { benchPrices, benchRestart, benchSteady } from './prices-bench.ts';
import { benchBacklog, benchLatency } from './stream-bench.ts';
import { benchWalk } from './walk-bench.ts';

/*
 * npm run bench [-- --walk 50000,500000 --delay 0,20,100 --events 2000 --backlog 100000 --prices 100000 --steady 5000
 *   --restart 100000 --decoding 1000 --json FILE --compare FILE]
 *
 * The connector against a provider of ready bytes, on a real Kafka and registry. Provider, connector, broker and registry
 * are processes on this machine and share its cores; CPU and memory are those of the connector's process. Decoding alone
 * is measured in this one. A list of 0 leaves a part out.
 */
const { values } = parseArgs({
  options: {
    walk: { type: 'string', default: '50000' },
    delay: { type: 'string', default: '0' },
    compression: { type: 'string', default: 'zstd' },
    events: { type: 'string', default: '2000' },
    polls: { type: 'string', default: '1000,100' },
    backlog: { type: 'string', default: '20000' },
    prices: { type: 'string', default: '50000' },
    steady: { type: 'string', default: '5000' },
    restart: { type: 'string', default: '50000' },
    decoding: { type: 'string', default: '1000' },
    json: { type: 'string' },
    compare: { type: 'string' },
  },
});
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));
const numbers = (text: string) => text.split(',').map(Number);
const sizes = (text: string) => numbers(text).filter((size) => size > 0);

const DECODING_ROUNDS = 15;

const figures: Record<string, object[]> = {};
for (const part of ['decoding', 'walk', 'latency', 'backlog', 'prices', 'steady', 'restart']) figures[part] = [];
for (const instruments of sizes(values.decoding)) {
  for await (const body of benchDecoding(instruments, DECODING_ROUNDS)) figures.decoding?.push(body);
}
const stack = await startBenchStack(stop.signal);
try {
  for (const size of sizes(values.walk)) {
    for (const delayMs of numbers(values.delay)) {
      for (const codec of values.compression.split(','))
        figures.walk?.push(await benchWalk(stack, size, delayMs, codec));
    }
  }
  for (const events of sizes(values.events)) {
    for (const pollMs of numbers(values.polls)) figures.latency?.push(await benchLatency(stack, events, pollMs));
  }
  for (const events of sizes(values.backlog)) figures.backlog?.push(await benchBacklog(stack, events));
  for (const size of sizes(values.prices)) {
    for (const delayMs of [0, 50]) figures.prices?.push(await benchPrices(stack, size, delayMs));
  }
  for (const size of sizes(values.steady)) figures.steady?.push(await benchSteady(stack, size, 60));
  for (const size of sizes(values.restart)) figures.restart?.push(await benchRestart(stack, size));
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
