import { canMatch, hostsOf } from './groups/endpoint.ts';
import { KNOWN_EVENT_TYPES } from './groups/sources.ts';
import { memberOf } from './problem.ts';
import { nearestName } from './suggestion.ts';

/** Finds likely mistakes that are not errors. Returns a sentence for each, beginning with the setting's name. */
export function settingsWarnings(given: unknown): string[] {
  const sources = memberOf(given, 'sources');
  const ofSources = (Array.isArray(sources) ? sources : []).flatMap((source: unknown, at) =>
    ['eventType', 'deleteOnEventTypes'].flatMap((name) =>
      ofUnknownTypes(`sources[${at}].${name}`, [memberOf(source, name)].flat()),
    ),
  );
  return [...ofSources, ...ofNoProxies(given)];
}

const PROXIED = [['referenceData'], ['marketData'], ['schemaRegistry'], ['kafka', 'sasl']];

/** Not an error, because the variable NO_PROXY of a machine also serves other programs. */
function ofNoProxies(given: unknown): string[] {
  const wrong = PROXIED.flatMap((path) => {
    const group = path.reduce(memberOf, given);
    const hosts = memberOf(group, 'noProxy');
    const hasProxy = memberOf(group, 'proxy') || memberOf(group, 'proxyFile');
    const setting = `${path.join('.')}.noProxy`;
    const all = hasProxy && typeof hosts === 'string' ? hostsOf(hosts) : [];
    return all.filter((host) => !canMatch(host)).map((host) => ({ setting, host }));
  });
  return [...Map.groupBy(wrong, ({ host }) => host)].map(
    ([host, some]) =>
      `${some.map(({ setting }) => setting).join(', ')}: ${JSON.stringify(host)} can match no host, so requests to such hosts go through the proxy; expected a name, .suffix, host:port or range.`,
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
