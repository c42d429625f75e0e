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
