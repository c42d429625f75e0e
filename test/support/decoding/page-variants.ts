import {
  isContainer,
  type Lossless,
  parseLossless,
  rawScalar,
  reshape,
  stringifyLossless,
} from '../../../src/dev/simulator/ledger/lossless-json.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { seededRandom } from '../../simulation/random.ts';

export async function usualPage(instruments: number): Promise<Buffer> {
  const simulator = await createSimulator({ instruments, seed: 5, port: 0, auth: false });
  try {
    const response = await fetch(`${simulator.referenceDataUrl}/v1/instruments?limit=${instruments}`);
    return Buffer.from(await response.arrayBuffer());
  } finally {
    await simulator.close();
  }
}

/** Odd but legal forms of a page, by what is odd. */
export function oddPages(page: Buffer): ReadonlyMap<string, Buffer> {
  const parsed = () => parseLossless(page.toString()) as Lossless;
  const random = seededRandom(1);
  const variants: readonly (readonly [string, (value: unknown) => string])[] = [
    [
      'capitalised keys in rows',
      (value) => text(inRows(value, (row) => reshape(row, { absent: 'null', casing: 'capitalised' }))),
    ],
    [
      'keys in another order in each object',
      (value) => text(mapObjects(value, (entries) => shuffled(entries, random))),
    ],
    ['an unknown field in each object', (value) => text(mapObjects(value, (entries) => [...entries, ['future', 'x']]))],
    [
      'an unknown object in each object',
      (value) => text(mapObjects(value, (entries) => [...entries, ['future', { a: [1, { b: 'c' }] }]])),
    ],
    ['a key that comes twice in each object', (value) => text(value).replaceAll('{"type":', '{"type":null,"type":')],
    ['all numbers with 18 fraction digits', (value) => numbers(value, '1.123456789012345678')],
    ['all numbers with 25 fraction digits', (value) => numbers(value, '1.1234567890123456789012345')],
    ['an escape in each string', (value) => text(inRows(value, (row) => row)).replace(/:"([^"\\])/g, withEscape)],
    ['pretty-printed', (value) => JSON.stringify(value, null, 2)],
    [
      'nulls left out',
      (value) => text(mapObjects(value, (entries) => entries.filter(([, member]) => member !== null))),
    ],
  ];
  return new Map(variants.map(([what, vary]) => [what, Buffer.from(vary(parsed()))]));
}

export type Entries = readonly (readonly [string, unknown])[];

function text(value: unknown): string {
  return stringifyLossless(value);
}

// The envelope keeps its form, so that the page stays one.
function inRows(value: unknown, vary: (row: unknown) => unknown): unknown {
  const { instruments, ...rest } = value as { readonly instruments: readonly unknown[] };
  return { instruments: instruments.map(vary), ...rest };
}

function mapObjects(value: unknown, vary: (entries: Entries) => Entries): unknown {
  return inRows(value, (row) => mapTree(row, vary));
}

/** A value of which the members of each object are changed, those of the innermost objects first. */
export function mapTree(value: unknown, vary: (entries: Entries) => Entries): unknown {
  if (Array.isArray(value)) return value.map((one) => mapTree(one, vary));
  if (!isContainer(value)) return value;
  return Object.fromEntries(vary(Object.entries(value).map(([key, member]) => [key, mapTree(member, vary)] as const)));
}

function numbers(value: unknown, number: string): string {
  const isId = (key: string) => key === 'id';
  return text(
    mapObjects(value, (entries) =>
      entries.map(([key, member]) => [key, isRaw(member) && !isId(key) ? rawScalar(number) : member] as const),
    ),
  );
}

function withEscape(_: string, first: string): string {
  return `:"\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function isRaw(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'rawJSON' in value;
}

export function shuffled(entries: Entries, random: () => number): Entries {
  return entries
    .map((entry) => ({ entry, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ entry }) => entry);
}
