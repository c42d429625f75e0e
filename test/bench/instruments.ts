import { parseArgs } from 'node:util';
import { startBenchStack } from './bench-stack.ts';
import { benchLatency, type LatencyFigures } from './latency-bench.ts';
import { benchPrices, type PriceFigures } from './prices-bench.ts';
import { benchProvider } from './provider-bench.ts';
import { benchWalk, type WalkFigures } from './walk-bench.ts';

/*
 * npm run bench [-- --instruments 50000,200000] [--events 300] [--prices 100000] [--json]
 *
 * Reads the simulated provider alone; then walks instruments from it into a real Kafka, follows events, and prices
 * instruments. Provider, connector, broker and registry are processes on this machine and share its cores; memory and
 * CPU are those of the connector's process.
 */
const { values } = parseArgs({
  options: {
    instruments: { type: 'string', default: '50000' },
    events: { type: 'string', default: '300' },
    prices: { type: 'string', default: '100000' },
    json: { type: 'boolean', default: false },
  },
});
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));

const provider = await benchProvider();
const stack = await startBenchStack(stop.signal);
try {
  const walks: WalkFigures[] = [];
  for (const size of sizes(values.instruments)) walks.push(await benchWalk(stack, size));
  const latency: LatencyFigures[] = [];
  if (Number(values.events) > 0) latency.push(await benchLatency(stack, Number(values.events)));
  const prices: PriceFigures[] = [];
  for (const size of sizes(values.prices)) {
    for (const delayMs of [0, 50]) prices.push(await benchPrices(stack, size, delayMs));
  }
  if (!values.json) {
    console.log('The simulated provider alone');
    console.table([provider]);
    console.log('Walk');
    console.table(walks);
    console.log('From publication to a read_committed reader');
    console.table(latency);
    console.log('Prices');
    console.table(prices);
  }
  console.log(
    JSON.stringify({ node: process.version, date: new Date().toISOString(), provider, walks, latency, prices }),
  );
} finally {
  await stack.stop();
}

/** None for 0. */
function sizes(text: string): number[] {
  return text
    .split(',')
    .map(Number)
    .filter((size) => size > 0);
}
