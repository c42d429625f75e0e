import { KNOWN_EVENT_TYPES } from './groups/sources.ts';
import type { Settings } from './settings.ts';
import { nearestName } from './suggestion.ts';

/** Settings of earlier versions that have no effect any more, by group, with the reason. */
const RETIRED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sources: { drainLimit: 'a page of a walk waits until the stream was read, however long that takes' },
};

/** Likely mistakes in valid settings: a sentence each, which begins with the setting. */
export function settingsWarnings({ sources }: Pick<Settings, 'sources'>): string[] {
  return sources.flatMap((source, at) => {
    if (source.type === 'events' && source.eventType !== null)
      return ofUnknownTypes(`sources[${at}].eventType`, [source.eventType]);
    if (source.type === 'instruments')
      return ofUnknownTypes(`sources[${at}].deleteOnEventTypes`, source.deleteOnEventTypes);
    return [];
  });
}

function ofUnknownTypes(setting: string, given: readonly string[]): string[] {
  const known: readonly string[] = KNOWN_EVENT_TYPES;
  return given
    .filter((type) => !known.includes(type.toLowerCase()))
    .map((type) => {
      const nearest = nearestName(type, known);
      const meant = nearest === undefined ? '' : `; did you mean ${nearest}?`;
      return `${setting}: ${JSON.stringify(type)} is not among the known event types (${known.join(', ')})${meant}${meant ? '' : '.'} The provider may refuse it, or send no such event.`;
    });
}

/** The values without retired settings, so that a file of an earlier version still works; a warning for each of them. */
export function withoutRetired(given: unknown): { readonly value: unknown; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const without = (names: Readonly<Record<string, string>>, path: string, group: unknown): unknown => {
    if (Array.isArray(group)) return group.map((one, at) => without(names, `${path}[${at}]`, one));
    if (group === null || typeof group !== 'object') return group;
    const entries = Object.entries(group).filter(([key]) => {
      const why = Object.hasOwn(names, key) ? names[key] : undefined;
      if (why !== undefined) warnings.push(`${path}.${key} has no effect since version 0.2.0: ${why}. Remove it.`);
      return why === undefined;
    });
    return Object.fromEntries(entries);
  };
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return { value: given, warnings };
  const groups = Object.entries(given).map(([name, group]) => {
    const names = Object.hasOwn(RETIRED, name) ? RETIRED[name] : undefined;
    return [name, names === undefined ? group : without(names, name, group)];
  });
  return { value: Object.fromEntries(groups), warnings };
}
