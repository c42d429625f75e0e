import type { Report } from './cross-check.ts';

/** The settings as given; any may be of another type, which is reported elsewhere. */
interface Given {
  readonly marketData?: unknown;
  readonly prices?: unknown;
  readonly sources?: unknown;
}

interface PricedSource {
  readonly name: unknown;
  /** In upper case; null for all countries. */
  readonly country: string | null;
}

const ADVICE = 'give each a legalCountry of its own, or name one source';

/**
 * Every topic of prices has one record per instrument. Two sources that may both hold an instrument would delete each
 * other's prices: one drops the instrument, and its price goes while the other still has it.
 */
export function checkPricedSources({ marketData, prices, sources }: Given, report: Report): void {
  const given = memberOf(prices, 'from');
  const from: readonly unknown[] = Array.isArray(given) ? given : [];
  if (!Array.isArray(sources)) return;
  const all = sources.filter((source) => memberOf(source, 'type') === 'instruments').map(pricedSource);
  for (const [position, name] of from.entries()) {
    if (all.some((source) => source.name === name)) continue;
    report(['prices', 'from', position], `names ${JSON.stringify(name)}, which is not a source of type instruments`);
  }
  if (!isPriced(marketData, prices)) return;
  if (from.length === 0 && all.length > 1) {
    const names = all.map(({ name }) => JSON.stringify(name)).join(', ');
    report(['prices', 'from'], `is empty, and there are ${all.length} instruments sources: name those of ${names}`);
  }
  const positions = [...new Set(from)].map((name) => ({ name, position: from.indexOf(name) }));
  const named = positions.flatMap(({ name, position }) =>
    all.filter((source) => source.name === name).map((source) => ({ ...source, position })),
  );
  for (const [at, source] of named.entries()) {
    const other = named.slice(0, at).find((earlier) => mayOverlap(earlier, source));
    if (other === undefined) continue;
    const what = `names ${JSON.stringify(source.name)}, which may hold instruments of ${JSON.stringify(other.name)}`;
    report(['prices', 'from', source.position], `${what}: ${ADVICE}`);
  }
}

/** Codes of two and of three letters can name one country; an instrument has one legal country. */
function mayOverlap(one: PricedSource, other: PricedSource): boolean {
  if (one.country === null || other.country === null) return true;
  return one.country === other.country || one.country.length !== other.country.length;
}

/** Without prices, the sources of prices do not matter. */
function isPriced(marketData: unknown, prices: unknown): boolean {
  const url = memberOf(marketData, 'url');
  const kinds = Object.values((memberOf(prices, 'kinds') ?? {}) as Readonly<Record<string, unknown>>);
  const isAsked = kinds.some((kind) => memberOf(kind, 'enabled') === true);
  return typeof url === 'string' && memberOf(prices, 'enabled') === true && isAsked;
}

function pricedSource(source: unknown): PricedSource {
  const country = memberOf(source, 'legalCountry');
  return { name: memberOf(source, 'name'), country: typeof country === 'string' ? country.toUpperCase() : null };
}

function memberOf(value: unknown, key: string): unknown {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}
