import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../../src/support/clock.ts';

/*
 * Takes buffers of the size of responses, each with a small one behind it that stays, drops the former, and writes as JSON
 * how much memory it had with them and has without them, in bytes beyond that at the start.
 */
const BUFFERS = 2_000;
const DROPPED_BYTES = 40_000;
const KEPT_BYTES = 2_000;
/** The collector gives buffers back after its own turn. */
const COLLECTIONS = 5;
const COLLECTED_AFTER_MS = 50;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const startBytes = process.memoryUsage.rss();
const kept: Buffer[] = [];
const dropped: Buffer[] = [];
for (let count = 0; count < BUFFERS; count++) {
  dropped.push(Buffer.allocUnsafeSlow(DROPPED_BYTES).fill(1));
  kept.push(Buffer.allocUnsafeSlow(KEPT_BYTES).fill(1));
}
const withBytes = process.memoryUsage.rss() - startBytes;
dropped.length = 0;
for (let count = 0; count < COLLECTIONS; count++) {
  collect();
  await systemClock.sleep(COLLECTED_AFTER_MS);
}
const withoutBytes = process.memoryUsage.rss() - startBytes;
process.stdout.write(`${JSON.stringify({ kept: kept.length, withBytes, withoutBytes })}\n`);
