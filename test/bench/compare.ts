/** The figures that two results of the benchmark both have, with the ratio of the new one to the old one. */
export function ratios(now: unknown, before: unknown, name = ''): object[] {
  if (typeof now === 'number' && typeof before === 'number') {
    return before === 0 ? [] : [{ figure: name, before, now, ratio: Math.round((now / before) * 100) / 100 }];
  }
  if (typeof now !== 'object' || typeof before !== 'object' || now === null || before === null) return [];
  const old = before as Record<string, unknown>;
  return Object.entries(now).flatMap(([key, value]) => ratios(value, old[key], name === '' ? key : `${name}.${key}`));
}
