import type { Settings } from '../config/settings.ts';
import { subjectsOf } from '../setup/subjects.ts';
import type { Context } from './context.ts';

/**
 * Asks registry and provider for what the first poll needs of them, schemas and tokens, while Kafka is asked for the
 * rest: each takes some round trips, one after the other. Nothing waits here, and nothing is written: the topics are not
 * verified yet. The parts that need it ask again, and report what failed.
 */
export function askAhead(
  settings: Settings,
  runs: { readonly sources: boolean; readonly prices: boolean },
  { registry, http, marketHttp }: Pick<Context, 'registry' | 'http' | 'marketHttp'>,
  signal: AbortSignal,
): void {
  const { sources, prices } = settings;
  const needed = subjectsOf({
    ...settings,
    sources: runs.sources ? sources : [],
    prices: { ...prices, enabled: runs.prices },
  });
  const asked: Promise<unknown>[] = needed.map(({ subject, schema }) => registry.lookAhead(subject, schema, signal));
  if (runs.sources) asked.push(http.login(signal));
  if (runs.prices && marketHttp !== null) asked.push(marketHttp.login(signal));
  for (const one of asked) one.catch(() => {});
}
