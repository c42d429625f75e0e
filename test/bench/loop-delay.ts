import { monitorEventLoopDelay } from 'node:perf_hooks';

/*
 * Loaded into a measured process: at each SIGUSR2 it writes its event-loop delay since the last one. It measures from the
 * first one on: measuring wakes the process a thousand times a second.
 */
const NS_PER_MS = 1e6;
const delay = monitorEventLoopDelay({ resolution: 1 });
process.on('SIGUSR2', () => {
  const ms = (ns: number) => Math.round(ns / NS_PER_MS);
  process.stdout.write(`${JSON.stringify({ loopDelayP99Ms: ms(delay.percentile(99)), maximumMs: ms(delay.max) })}\n`);
  delay.enable();
  delay.reset();
});
