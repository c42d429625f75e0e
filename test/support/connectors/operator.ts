import { type SourceState, stateRecord } from '../../../src/sources/source-state.ts';
import { createWantedStates } from '../../../src/sources/wanted-states.ts';

/** An operator whose wishes are known at once: the states topic without Kafka. */
export function operator(sources: readonly string[]) {
  const states = createWantedStates(sources, () => {});
  let offset = 0n;
  const newest = new Map<string, SourceState>();
  const wants = (source: string, wanted: Partial<SourceState>) => {
    const state = { state: 'running', walk: null, restart: null, ...newest.get(source), ...wanted } as const;
    newest.set(source, state);
    states.take({ ...stateRecord('states', source, state), offset: offset++, timestampMs: 0 });
  };
  return {
    targets: states.targets,
    wants,
    restarts: (source: string, { onlyFailed } = { onlyFailed: false }) =>
      wants(source, { restart: { id: `restart-${offset}`, requestedAt: null, onlyFailed } }),
  };
}
