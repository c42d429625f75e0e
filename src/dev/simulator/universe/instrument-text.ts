import { isContainer, parseLossless, reshape, stringifyLossless } from '../ledger/lossless-json.ts';
import { type Blueprint, createBlueprints } from './blueprint.ts';
import { createCalendar } from './calendar.ts';
import { type InstrumentVersion, ISSUED } from './instrument-version.ts';
import { mix } from './random.ts';
import { compileTemplate, InstrumentDraw, type Node, type TextForm } from './text-template.ts';

/** Writes instruments as JSON text. The text depends only on seed and arguments, not on the universe. */
export interface InstrumentText {
  write(id: bigint, version: InstrumentVersion, form: TextForm): string;
  legalCountry(id: bigint, version: InstrumentVersion): string | null;
  /** The isin identifier; undefined if a raw instrument has no isin. */
  isin(id: bigint, version: InstrumentVersion): string | undefined;
  /** True if the instrument belongs to the calling account (the `/my` endpoints). */
  isMine(id: bigint): boolean;
  /** The currency, and the maximum numbers of barrier breaches (`underlyings`) and of coupon payments (`coupons`). */
  blueprint(id: bigint): Pick<Blueprint, 'underlyings' | 'coupons' | 'currency'>;
  /** A 32-bit number. All other values of the instrument are computed from this number. */
  key(id: bigint): number;
}

const LOW_BITS = 0xffff_ffffn;

export function createInstrumentText(options: { seed: number; myShare: number }): InstrumentText {
  const { seed, myShare } = options;
  const calendar = createCalendar();
  const key = (id: bigint) => mix(mix(seed, Number(id & LOW_BITS)), Number(id >> 32n));
  const country = (id: bigint) => countryOf(mix(key(id), 2));
  const typical = new InstrumentDraw(123_456_789n, mix(seed, 1), 'CH', ISSUED, calendar);
  const measure = (node: Node, form: TextForm) => compileTemplate(node, form)(typical).length;
  const blueprints = createBlueprints(seed, measure);
  const compiled = new Map<string, readonly ((draw: InstrumentDraw) => string)[]>();
  const templates = (form: TextForm) => {
    const name = `${form.absent} ${form.casing}`;
    const known = compiled.get(name) ?? blueprints.map(({ node }) => compileTemplate(node, form));
    compiled.set(name, known);
    return known;
  };
  const place = (id: bigint) => mix(key(id), 3) % blueprints.length;
  const rawField = (raw: string, read: (value: Record<string, unknown>) => unknown) => {
    const value = parseLossless(raw);
    const found = isContainer(value) ? read(value) : undefined;
    return typeof found === 'string' ? found : undefined;
  };
  return {
    key,
    isMine: (id) => mix(key(id), 5) < myShare * 0x1_0000_0000,
    write(id, version, form) {
      if (version.raw !== null) {
        const asGiven = form.absent === 'null' && form.casing === 'lower';
        return asGiven ? version.raw : stringifyLossless(reshape(parseLossless(version.raw), form));
      }
      const template = templates(form)[place(id)];
      return template?.(new InstrumentDraw(id, key(id), country(id), version, calendar)) ?? 'null';
    },
    legalCountry: (id, { raw }) =>
      raw === null ? country(id) : (rawField(raw, (value) => value.legalCountry) ?? null),
    isin: (id, { raw }) =>
      raw === null
        ? new InstrumentDraw(id, key(id), country(id), ISSUED, calendar).identifiers.isin
        : rawField(raw, rawIsin),
    blueprint: (id) => blueprints[place(id)] ?? { underlyings: 0, coupons: 0, currency: 'CHF' },
  };
}

function rawIsin(instrument: Record<string, unknown>): unknown {
  const { identifiers } = instrument;
  if (!Array.isArray(identifiers)) return undefined;
  return identifiers.find((item) => isContainer(item) && String(item.type).toLowerCase() === 'isin')?.value;
}

/** 0.3 % of instruments have no legal country. */
function countryOf(drawn: number): string | null {
  const permille = drawn % 1_000;
  if (permille < 3) return null;
  if (permille < 620) return 'CH';
  if (permille < 900) return 'DE';
  return permille < 970 ? 'AT' : 'LI';
}
