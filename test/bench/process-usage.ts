import { readFileSync } from 'node:fs';

const CLOCK_TICKS_PER_SECOND = 100;
const KIB = 1024;

/** What a process has used so far, by the kernel's own accounts (Linux). */
export function processUsage(pid: number) {
  // The name in parentheses may hold blanks; the fields that count come after it.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = Number(stat[11]) + Number(stat[12]);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  return {
    cpuSeconds: ticks / CLOCK_TICKS_PER_SECOND,
    memoryBytes: kib('VmRSS') * KIB,
    peakMemoryBytes: kib('VmHWM') * KIB,
  };
}
