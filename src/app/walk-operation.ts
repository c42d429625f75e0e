import { randomUUID } from 'node:crypto';
import { type RequestedWalk, stateRecord } from '../connector/source-state.ts';
import type { Installation } from './installation.ts';

/**
 * Asks a source for a walk through the states topic: a running connector begins it as soon as none is under way, a
 * stopped one when it starts. A request that was not begun yet is replaced.
 *
 * @throws ConnectorError as the transactional writer does.
 */
export async function requestWalk(
  { settings, kafka, topics, clock, signal }: Installation,
  { source, allowShrink }: { readonly source: string; readonly allowShrink: number | null },
): Promise<RequestedWalk> {
  const walk = { id: randomUUID(), requestedAt: new Date(clock.wallMs()).toISOString(), allowShrink };
  const writer = kafka.transactionalWriter(`${settings.prefix}-admin-${randomUUID()}`);
  await writer.open(async () => {}, signal);
  await writer.commit([stateRecord(topics.states.name, source, { state: 'running', walk })]);
  await writer.close();
  return walk;
}
