/** One record of an instruments topic; `isin` null is one without, `gone` a tombstone. */
export interface PriceInput {
  readonly partition: number;
  readonly offset: number;
  readonly id: string;
  readonly kind: 'live' | 'noIsin' | 'gone' | 'unreadable';
  readonly isin: string | null;
}

/** One committed record of the prices or the dead letter topic. */
export interface PriceResult {
  readonly kind: 'price' | 'tombstone' | 'deadLetter';
  readonly id: string;
  /** Of a price. */
  readonly isin: string | null;
  /** The records that it says to answer; none for a refresh. */
  readonly answers: { readonly partition: number; readonly offsets: readonly number[] } | null;
}

export interface PriceLog {
  readonly inputs: readonly PriceInput[];
  /** In the order of their topics. */
  readonly results: readonly PriceResult[];
  /** By partition: where a restart would go on. */
  readonly committed: ReadonlyMap<number, number>;
}

/** The results that a record of each kind can have. */
const FITTING: Readonly<Record<PriceInput['kind'], readonly PriceResult['kind'][]>> = {
  // A tombstone where no answer came in time.
  live: ['price', 'deadLetter', 'tombstone'],
  noIsin: ['tombstone'],
  gone: ['tombstone'],
  unreadable: ['deadLetter'],
};

/**
 * Where the log breaks the promise of one result per record: exactly one result answers a record below the committed
 * offset, or a later record of its id will be or was answered. No price has another isin than the record that it answers,
 * and none is left of an instrument that is gone, has no isin or another one by now, or whose record cannot be read.
 */
export function priceViolations({ inputs, results, committed }: PriceLog): string[] {
  const violations: string[] = [];
  const inputAt = new Map(inputs.map((input) => [`${input.partition}:${input.offset}`, input]));
  const answers = new Map<string, number>();
  for (const result of results) {
    const { kind, id, isin } = result;
    const offsets = result.answers?.offsets ?? [];
    const last = offsets.at(-1);
    for (const offset of offsets) {
      const place = `${result.answers?.partition}:${offset}`;
      const input = inputAt.get(place);
      answers.set(place, (answers.get(place) ?? 0) + 1);
      if (input === undefined || input.id !== id) {
        violations.push(`a ${kind} of ${id} answers ${place}, a record of ${input?.id}`);
      } else if (offset === last) {
        if (!FITTING[input.kind].includes(kind)) violations.push(`a ${kind} answers ${place}, which is ${input.kind}`);
        if (kind === 'price' && isin !== input.isin)
          violations.push(`the price of ${isin} answers ${place}, ${input.isin}`);
      }
    }
  }
  /** Ids of which a record further on has its result, or will have one. */
  const covered = new Set<string>();
  for (const { partition, offset, id } of [...inputs].sort((a, b) => b.offset - a.offset)) {
    const place = `${partition}:${offset}`;
    const count = answers.get(place) ?? 0;
    const end = committed.get(partition) ?? 0;
    if (count > 1) violations.push(`${place} is answered ${count} times`);
    if (count > 0 && offset >= end) violations.push(`${place} is answered, but a restart at ${end} reads it again`);
    const isDone = count > 0 || offset >= end;
    if (isDone) covered.add(id);
    else if (!covered.has(id)) violations.push(`${place}, a record of ${id}, is lost`);
  }
  return [...violations, ...stalePrices({ inputs, results, committed })];
}

function stalePrices({ inputs, results, committed }: PriceLog): string[] {
  const newest = new Map(inputs.toSorted((a, b) => a.offset - b.offset).map((input) => [input.id, input]));
  const shown = new Map(results.filter(({ kind }) => kind !== 'deadLetter').map((result) => [result.id, result]));
  return [...newest.values()].flatMap(({ id, kind, isin, partition, offset }) => {
    const last = shown.get(id);
    if (last?.kind !== 'price' || last.isin === isin || offset >= (committed.get(partition) ?? 0)) return [];
    return [`${id} is ${kind} with the isin ${isin}, and the price of ${last.isin} is still there`];
  });
}

/** What the header of a result says, `<topic>/<partition>:<offset>,<offset>`. */
export function answersOf(header: string | undefined): PriceResult['answers'] {
  if (header === undefined) return null;
  const match = /^.+\/([0-9]+):([0-9,]+)$/.exec(header);
  if (match === null) throw new Error(`The header ${header} is of another form.`);
  return { partition: Number(match[1]), offsets: (match[2] ?? '').split(',').map(Number) };
}
