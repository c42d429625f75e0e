import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGround } from './ground.ts';
import { SOAK_FAULTS } from './plan.ts';
import { tableOf } from './report.ts';
import { runCampaign } from './run.ts';
import { createSampling } from './sampling.ts';
import { trendTable } from './trends.ts';

/*
 * npm run soak -- [--minutes 30] [--seed 1] [--brokers 1|3] [--connectors 1] [--faults pause,storm]
 *   [--json FILE] [--logs FOLDER]
 *
 * The same processes from beginning to end, while faults come and go that do not kill them; at the end everything is
 * verified, and what a process holds must not have grown. Ends with 1 at the first violation, or at a slope above its bound.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    brokers: { type: 'string', default: '1' },
    connectors: { type: 'string', default: '1' },
    faults: { type: 'string', default: SOAK_FAULTS.join(',') },
    json: { type: 'string' },
    logs: { type: 'string', default: join(tmpdir(), `soak-${process.pid}`) },
  },
});
const faults = SOAK_FAULTS.filter((fault) => values.faults.split(',').includes(fault));
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));
process.once('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));

const command = `npm run soak -- ${process.argv.slice(2).join(' ')}`;
const minutes = Number(values.minutes);
const sampling = createSampling(minutes);
const ground = await startGround(Number(values.brokers), stop.signal);
try {
  const report = await runCampaign({
    ground,
    command,
    seed: Number(values.seed),
    faults,
    connectors: Number(values.connectors),
    kills: Number.POSITIVE_INFINITY,
    minutes,
    rounds: Number.POSITIVE_INFINITY,
    roundsPerLife: Number.POSITIVE_INFINITY,
    folder: values.logs,
    subject: { instruments: 120, changesPerSecond: 4, priceRefresh: '60s' },
    signal: stop.signal,
    say: (line) => console.log(line),
    observe: sampling.observe,
  });
  const trends = sampling.trends();
  const loads = report.load.map((load) => load.toFixed(1)).join(' to ');
  console.log(`\n${tableOf(report.rows)}\n\n${trendTable(trends)}`);
  console.log(`\n${JSON.stringify(report.totals)}\nload ${loads}, seed ${report.seed}`);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ...report, trends }, null, 2)}\n`);
  const isGood = report.violation === null && trends.every(({ isLeak }) => !isLeak);
  if (!isGood) console.log(`To see it again: ${command}\nThe logs of all replicas: ${values.logs}`);
  process.exitCode = isGood ? 0 : 1;
} finally {
  await ground.stop();
}
process.exit();
