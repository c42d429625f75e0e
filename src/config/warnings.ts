import { KNOWN_EVENT_TYPES } from './groups/sources.ts';
import type { Settings } from './settings.ts';
import { nearestName } from './suggestion.ts';

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
