import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { closingOf } from './closing.ts';
import { startGround } from './ground.ts';
import { FAULT_NAMES, FAULTS, type FaultName } from './plan.ts';
import { runCampaign } from './run.ts';

/*
 * npm run campaign -- [--kills 100] [--minutes 20] [--rounds N] [--seed 1] [--brokers 1|3] [--connectors 2] [--replicas 1]
 *   [--faults kill,broker] [--json FILE] [--logs FOLDER]
 *
 * Faults on a real Kafka of its own, round after round, until so many processes were killed or the time is over; ends
 * with 1 at the first violation.
 */
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '20' },
    rounds: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: '1' },
    brokers: { type: 'string', default: '1' },
    connectors: { type: 'string', default: '2' },
    replicas: { type: 'string' },
    faults: { type: 'string', default: FAULT_NAMES.join(',') },
    json: { type: 'string' },
    logs: { type: 'string', default: join(tmpdir(), `campaign-${process.pid}`) },
  },
});
const faults = values.faults.split(',');
const unknown = faults.filter((name) => !(name in FAULTS));
if (unknown.length > 0) throw new Error(`${unknown} is no fault; there are ${FAULT_NAMES}.`);
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));
process.once('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));

const command = `npm run campaign -- ${process.argv.slice(2).join(' ')}`;
const ground = await startGround(Number(values.brokers), stop.signal);
try {
  const report = await runCampaign({
    ground,
    command,
    seed: Number(values.seed),
    faults: faults as FaultName[],
    connectors: Number(values.connectors),
    replicas: values.replicas === undefined ? undefined : Number(values.replicas),
    kills: Number(values.kills),
    minutes: Number(values.minutes),
    rounds: Number(values.rounds),
    roundsPerLife: 12,
    folder: values.logs,
    subject: { instruments: 120, changesPerSecond: 4, priceRefresh: '30s' },
    signal: stop.signal,
    say: (line) => console.log(line),
  });
  const { exitCode, lines } = closingOf(report, [], values.logs);
  console.log(lines.join('\n'));
  process.exitCode = exitCode;
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await ground.stop();
}
process.exit();
