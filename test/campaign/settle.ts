import { setTimeout as sleep } from 'node:timers/promises';
import type { Eyes, Watch } from './eyes.ts';
import { type ConnectorLog, findingsOf } from './oracle.ts';
import type { Replica } from './replica.ts';
import { STUCK_MS, type Subject } from './subject.ts';
import { type Finding, Violation } from './violation.ts';

const stuck = (text: string): Finding => ({ kind: 'stuck', text });
const LOOK_EVERY_MS = 2_000;

/**
 * Lets a connector come to rest, stops it, and compares its topics with the provider's ledger. The provider has stopped
 * changing, and nothing disturbs.
 *
 * @throws Violation with all that is wrong
 */
export async function settle(subject: Subject, eyes: Eyes, watch: Watch): Promise<ConnectorLog> {
  subject.stopChanging();
  await until(subject, async () => {
    const missing = await watch.missing();
    // What was skipped is found while the others come: these are behind all that is there.
    return missing > 0 ? [{ kind: 'stuck', text: `${missing} events have not come yet` }] : [];
  });
  // What has vanished is deleted by the next walk; prices follow.
  await until(subject, async () => {
    const log = await eyes.read(subject, false);
    const waiting = unanswered(log);
    if (waiting > 0) return [{ kind: 'stuck', text: `${waiting} records of instruments wait for their price` }];
    return findingsOf(log);
  });
  const ill = await stopAll(subject.replicas());
  if (ill.length > 0) throw new Violation(subject.name, ill);
  let log: ConnectorLog | undefined;
  await until(subject, async () => {
    log = await eyes.read(subject, true);
    return findingsOf(log);
  });
  if (log === undefined) throw new Error('unreachable');
  return log;
}

/**
 * Looks again until nothing is wrong any more: the last transactions become visible partition by partition, and a busy
 * broker may not answer.
 */
async function until(subject: Subject, look: () => Promise<Finding[]>): Promise<void> {
  const deadlineMs = performance.now() + STUCK_MS;
  for (;;) {
    const findings = await look().catch((error: unknown) => [{ kind: 'stuck' as const, text: `not read: ${error}` }]);
    if (findings.length === 0) return;
    subject.assertWell();
    if (performance.now() > deadlineMs) throw new Violation(subject.name, findings);
    await sleep(LOOK_EVERY_MS);
  }
}

function unanswered({ prices: { inputs, committed } }: ConnectorLog): number {
  return inputs.filter(({ partition, offset }) => offset >= (committed.get(partition) ?? 0)).length;
}

/** Asks each to stop: it must end in time, and well. */
async function stopAll(replicas: readonly Replica[]): Promise<Finding[]> {
  for (const replica of replicas) replica.signal('SIGTERM');
  const ends = replicas.map(async ({ name, ended }): Promise<Finding[]> => {
    const end = await Promise.race([ended, sleep(STUCK_MS, null, { ref: false })]);
    if (end === null) return [stuck(`${name} was asked to stop, and has not within ${STUCK_MS / 1_000} s`)];
    return end.code === 0 ? [] : [stuck(`${name} was asked to stop, and ended with ${end.code}`)];
  });
  return (await Promise.all(ends)).flat();
}
