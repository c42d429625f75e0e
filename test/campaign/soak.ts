import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { closingOf } from './closing.ts';
import { startGround } from './ground.ts';
import { SOAK_FAULTS } from './plan.ts';
import { runCampaign } from './run.ts';
import { createSampling } from './sampling.ts';

/*
 * npm run soak -- [--minutes 30] [--seed 1] [--brokers 3|1] [--connectors 1] [--faults pause,storm]
 *   [--json FILE] [--logs FOLDER]
 *
 * The same processes from beginning to end, while faults come and go that do not kill them; at the end everything is
 * verified, and what a process holds must not have grown. Ends with 1 at the first violation, or at a slope above its bound.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    // One that is killed without a replica may forget a commit that it has acknowledged; no client can make that good.
    brokers: { type: 'string', default: '3' },
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
  const { exitCode, lines } = closingOf(report, trends, values.logs);
  console.log(lines.join('\n'));
  process.exitCode = exitCode;
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ...report, trends }, null, 2)}\n`);
} finally {
  await ground.stop();
}
process.exit();
