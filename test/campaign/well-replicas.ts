import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from './replica.ts';
import type { Finding } from './violation.ts';

const stuck = (text: string): Finding => ({ kind: 'stuck', text });

/** Asks each: one that does not answer serves no probe either, and its partitions are only served since another one has them. */
export async function askAll(replicas: readonly Pick<Replica, 'name' | 'usage'>[]): Promise<Finding[]> {
  const asked = await Promise.allSettled(replicas.map((replica) => replica.usage()));
  return asked.flatMap((answer) => (answer.status === 'rejected' ? [stuck(`${answer.reason.message}`)] : []));
}

/** Asks each to stop: it must end within the limit, and well. */
export async function stopAll(
  replicas: readonly Pick<Replica, 'name' | 'signal' | 'ended'>[],
  limitMs: number,
): Promise<Finding[]> {
  for (const replica of replicas) replica.signal('SIGTERM');
  const ends = replicas.map(async ({ name, ended }): Promise<Finding[]> => {
    const limit = new AbortController();
    const late = sleep(limitMs, null, { signal: limit.signal }).catch(() => null);
    const end = await Promise.race([ended, late]);
    limit.abort();
    if (end === null) return [stuck(`${name} was asked to stop, and has not within ${limitMs / 1_000} s`)];
    return end.code === 0 ? [] : [stuck(`${name} was asked to stop, and ended with ${end.code}`)];
  });
  return (await Promise.all(ends)).flat();
}
