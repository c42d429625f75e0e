import { KNOWN_EVENT_TYPES } from './groups/sources.ts';
import { memberOf } from './problem.ts';
import { nearestName } from './suggestion.ts';

/** Finds likely mistakes that are not errors. Returns a sentence for each, beginning with the setting's name. */
export function settingsWarnings(given: unknown): string[] {
  const sources = memberOf(given, 'sources');
  if (!Array.isArray(sources)) return [];
  return sources.flatMap((source: unknown, at) =>
    ['eventType', 'deleteOnEventTypes'].flatMap((name) =>
      ofUnknownTypes(`sources[${at}].${name}`, [memberOf(source, name)].flat()),
    ),
  );
}

function ofUnknownTypes(setting: string, given: readonly unknown[]): string[] {
  const known: readonly string[] = KNOWN_EVENT_TYPES;
  return given
    .filter((type) => typeof type === 'string')
    .filter((type) => type !== '' && !known.includes(type.toLowerCase()))
    .map((type) => {
      const nearest = nearestName(type, known);
      const meant = nearest === undefined ? '' : `; did you mean ${nearest}?`;
      return `${setting}: ${JSON.stringify(type)} is not among the known event types (${known.join(', ')})${meant}${meant ? '' : '.'} The provider may refuse this type, or send no event of this type.`;
    });
}

/** Retired settings of sources, with the reason why a setting has no effect any more. */
const RETIRED: Readonly<Record<string, string>> = {
  drainLimit: 'a page of a walk waits until the stream was read, however long that takes',
};

/** Removes retired settings, with a warning for each, so that a file of an earlier version still works. */
export function withoutRetired(given: unknown): { readonly value: unknown; readonly warnings: string[] } {
  const sources = memberOf(given, 'sources');
  if (!Array.isArray(sources)) return { value: given, warnings: [] };
  const warnings = sources.flatMap((source, at) =>
    Object.entries(RETIRED)
      .filter(([name]) => memberOf(source, name) !== undefined)
      .map(([name, why]) => `sources[${at}].${name} has no effect since version 0.2.0: ${why}. Remove it.`),
  );
  const kept = sources.map((source) => {
    if (source === null || typeof source !== 'object') return source;
    return Object.fromEntries(Object.entries(source).filter(([name]) => !Object.hasOwn(RETIRED, name)));
  });
  return { value: { ...Object(given), sources: kept }, warnings };
}
