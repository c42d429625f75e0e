/** Settings of earlier versions that have no effect any more, by group, with the reason. */
const RETIRED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sources: { drainLimit: 'a page of a walk waits until the stream was read, however long that takes' },
};

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
