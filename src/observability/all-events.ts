/**
 * Events that reach all of these, in their order.
 *
 * @param sinks the first one must have every event as a property of its own.
 */
export function toAll<Events extends { readonly [Name in keyof Events]: (event: never) => void }>(
  sinks: readonly [Events, ...Events[]],
): Events {
  const names = Object.keys(sinks[0]) as (keyof Events)[];
  const joined = names.map((name) => {
    const tellAll = (event: never) => {
      for (const sink of sinks) sink[name](event);
    };
    return [name, tellAll];
  });
  return Object.fromEntries(joined) as Events;
}
