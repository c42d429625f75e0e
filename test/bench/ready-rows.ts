import { isinCheckDigit } from '../../src/dev/simulator/universe/isin.ts';

/*
 * Instruments that cost next to nothing to serve: the rows of one page of the simulated provider, copied, with another id
 * and ISIN written over the old ones. Instrument n has the content of template row n modulo their number.
 */

const FIRST_ID = 1_000_000_000;
const ID_STEP = 7;
const ID_DIGITS = 10;

interface TemplateRow {
  readonly bytes: Buffer;
  readonly idAt: number;
  /** Undefined where the instrument has no ISIN. */
  readonly isinAt: number | undefined;
}

/** The rows of a page's body as the simulated provider writes it: each with an id of ten digits. */
export function templateRows(body: string): TemplateRow[] {
  const { instruments } = JSON.parse(body) as { instruments: unknown[] };
  const starts = [...body.matchAll(/\{"id":(\d+),/g)].map(({ index }) => index);
  if (starts.length !== instruments.length) throw new Error('The page is not written as expected.');
  const end = body.lastIndexOf(']');
  return starts.map((start, row) => {
    const text = body
      .slice(start, (starts[row + 1] ?? end + 1) - 1)
      .replace(/^\{"id":\d+/, `{"id":${'0'.repeat(ID_DIGITS)}`);
    const isin = /"type":"isin","value":"([A-Z0-9]{12})"/i.exec(text);
    const bytes = Buffer.from(text);
    return {
      bytes,
      idAt: bytes.indexOf('0'.repeat(ID_DIGITS)),
      isinAt: isin ? bytes.indexOf(isin[1] ?? '') : undefined,
    };
  });
}

export function idOf(index: number): number {
  return FIRST_ID + index * ID_STEP;
}

/** The first instrument whose id is this or higher. */
export function indexFrom(id: number): number {
  return Math.max(0, Math.ceil((id - FIRST_ID) / ID_STEP));
}

function isinOf(index: number): string {
  const first11 = `CH${String(index).padStart(9, '0')}`;
  return first11 + isinCheckDigit(first11);
}

/** Writes rows one after the other. */
export class RowWriter {
  readonly #rows: readonly TemplateRow[];

  constructor(rows: readonly TemplateRow[]) {
    this.#rows = rows;
  }

  row(index: number): Buffer {
    const row = this.#rowAt(index);
    const out = Buffer.allocUnsafe(row.bytes.length);
    this.#write(out, 0, index);
    return out;
  }

  /** The rows from one instrument up to another, with commas between. */
  rows(from: number, to: number): Buffer {
    let bytes = 0;
    for (let index = from; index < to; index++) bytes += this.#rowAt(index).bytes.length + 1;
    const out = Buffer.allocUnsafe(Math.max(bytes - 1, 0));
    let at = 0;
    for (let index = from; index < to; index++) {
      if (index > from) out[at++] = 0x2c;
      at = this.#write(out, at, index);
    }
    return out;
  }

  #write(out: Buffer, at: number, index: number): number {
    const row = this.#rowAt(index);
    row.bytes.copy(out, at);
    out.write(String(idOf(index)), at + row.idAt, 'latin1');
    if (row.isinAt !== undefined) out.write(isinOf(index), at + row.isinAt, 'latin1');
    return at + row.bytes.length;
  }

  #rowAt(index: number): TemplateRow {
    return this.#rows[index % this.#rows.length] as TemplateRow;
  }
}
