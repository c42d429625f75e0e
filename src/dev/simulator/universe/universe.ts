import type { SimulatorClock } from '../clock.ts';
import { type InstrumentVersion, ISSUED } from './instrument-version.ts';
import { mix } from './random.ts';

const INITIAL_CAPACITY = 1_024;

export interface Member {
  readonly id: bigint;
  readonly version: InstrumentVersion;
}

/** The instruments that exist, and the instruments that the list endpoint shows, perhaps with a lag. */
export interface Universe {
  readonly size: number;
  has(id: bigint): boolean;
  idAt(index: number): bigint | undefined;
  /** The version of an instrument; the first version if the instrument does not exist. */
  versionOf(id: bigint): InstrumentVersion;
  put(id: bigint, version: InstrumentVersion): void;
  remove(id: bigint): void;
  /** A new id: higher than all ordinary ids, and lower than the ids above 2^53. */
  nextId(): bigint;
  members(from: bigint): Iterable<Member>;
  nextListLagMs(): number;
  /** The instruments from this id on, as the list endpoint shows them if it lags by `lagMs`. */
  listed(from: bigint, lagMs: number): Iterable<Member>;
  /** Sets the lag of the list, also for earlier changes that the list does not show yet. */
  setListLag(ms: number): void;
}

const FIRST_ID = 1_000_000n;

const ID_STEP = 7;

const BEYOND_DOUBLES = 2n ** 53n + 1n;

interface Change {
  readonly atMs: number;
  readonly id: bigint;
  readonly version: InstrumentVersion | null;
}

interface UniverseOptions {
  readonly seed: number;
  readonly instruments: number;
  readonly hugeIds: number;
  readonly listLagMs: number;
  /** True: each response lags by a different time, up to `listLagMs`. False: each response lags by `listLagMs`. */
  readonly listLagVaries: boolean;
  readonly clock: SimulatorClock;
}

export function createUniverse(options: UniverseOptions): Universe {
  const { clock } = options;
  let { listLagMs } = options;
  const ids = new IdList(firstIds(options));
  const versions = new Map<bigint, InstrumentVersion>();
  let laggingIds = ids.copy();
  let laggingVersions = new Map<bigint, InstrumentVersion>();
  // Changes that `laggingIds` and `laggingVersions` do not contain yet. `applyUntil` adds the changes older than the lag.
  const pending: Change[] = [];
  let lists = 0;
  let highest = ids.at(ids.lowerBound(BEYOND_DOUBLES) - 1) ?? FIRST_ID;

  const applyUntil = (nowMs: number) => {
    let applied = 0;
    while (applied < pending.length && (pending[applied]?.atMs ?? nowMs) + listLagMs <= nowMs) {
      const change = pending[applied++];
      if (change) write(laggingIds, laggingVersions, change);
    }
    pending.splice(0, applied);
  };
  const change = (id: bigint, version: InstrumentVersion | null) => {
    const made = { atMs: clock.monotonicMs(), id, version };
    write(ids, versions, made);
    if (listLagMs === 0) return;
    applyUntil(made.atMs);
    pending.push(made);
  };
  return {
    get size() {
      return ids.length;
    },
    has: (id) => ids.has(id),
    idAt: (index) => ids.at(index),
    versionOf: (id) => versions.get(id) ?? ISSUED,
    put(id, version) {
      if (id < BEYOND_DOUBLES && id > highest) highest = id;
      change(id, version);
    },
    remove: (id) => change(id, null),
    nextId() {
      // Continues after the highest id ever used, so that a removed id is not used again.
      highest += 1n + BigInt(mix(options.seed, Number(highest & 0xffffn)) % ID_STEP);
      return highest;
    },
    members: (from) => walk(ids, versions, from, new Map()),
    nextListLagMs: () =>
      options.listLagVaries && listLagMs > 0 ? mix(options.seed, lists++) % (listLagMs + 1) : listLagMs,
    setListLag(ms) {
      if (listLagMs === 0) {
        laggingIds = ids.copy();
        laggingVersions = new Map(versions);
      }
      if (ms === 0) pending.length = 0;
      listLagMs = ms;
    },
    listed(from, lagMs) {
      if (listLagMs === 0) return walk(ids, versions, from, new Map());
      const nowMs = clock.monotonicMs();
      applyUntil(nowMs);
      const visible = pending.filter((made) => made.atMs + lagMs <= nowMs);
      return walk(laggingIds, laggingVersions, from, new Map(visible.map((made) => [made.id, made.version])));
    },
  };
}

function firstIds({ seed, instruments, hugeIds }: UniverseOptions): bigint[] {
  const ordinary = Math.max(0, instruments - hugeIds);
  return Array.from({ length: instruments }, (_, at) =>
    at < ordinary
      ? FIRST_ID + BigInt(at * ID_STEP + (mix(seed, at) % ID_STEP))
      : BEYOND_DOUBLES + BigInt((at - ordinary) * 2),
  );
}

function write(ids: IdList, versions: Map<bigint, InstrumentVersion>, { id, version }: Change): void {
  if (version === null) {
    ids.remove(id);
    versions.delete(id);
  } else {
    ids.add(id);
    versions.set(id, version);
  }
}

function* walk(
  ids: IdList,
  versions: ReadonlyMap<bigint, InstrumentVersion>,
  from: bigint,
  changes: ReadonlyMap<bigint, InstrumentVersion | null>,
): Iterable<Member> {
  const added = [...changes.keys()].filter((id) => id >= from && !ids.has(id)).sort((a, b) => (a < b ? -1 : 1));
  let index = ids.lowerBound(from);
  for (;;) {
    const [stored, extra] = [ids.at(index), added[0]];
    if (stored === undefined && extra === undefined) return;
    const takeExtra = stored === undefined || (extra !== undefined && extra < stored);
    const id = takeExtra ? added.shift() : stored;
    if (!takeExtra) index += 1;
    if (id === undefined) return;
    const changed = changes.get(id);
    if (changed !== null) yield { id, version: changed ?? versions.get(id) ?? ISSUED };
  }
}

/** Ascending 64-bit ids of 8 bytes each, so that 200,000 instruments need 1.6 MB. */
class IdList {
  #ids: BigInt64Array;
  #length = 0;

  constructor(ids: readonly bigint[] = []) {
    this.#ids = new BigInt64Array(Math.max(INITIAL_CAPACITY, ids.length));
    for (const id of ids) this.add(id);
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): bigint | undefined {
    return index < this.#length ? this.#ids[index] : undefined;
  }

  lowerBound(id: bigint): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ids[middle] ?? id) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(id: bigint): boolean {
    return this.at(this.lowerBound(id)) === id;
  }

  add(id: bigint): void {
    const index = this.lowerBound(id);
    if (this.at(index) === id) return;
    if (this.#length === this.#ids.length) {
      const grown = new BigInt64Array(this.#ids.length * 2);
      grown.set(this.#ids);
      this.#ids = grown;
    }
    this.#ids.copyWithin(index + 1, index, this.#length);
    this.#ids[index] = id;
    this.#length += 1;
  }

  remove(id: bigint): void {
    const index = this.lowerBound(id);
    if (this.at(index) !== id) return;
    this.#ids.copyWithin(index, index + 1, this.#length);
    this.#length -= 1;
  }

  copy(): IdList {
    const copy = new IdList();
    copy.#ids = this.#ids.slice();
    copy.#length = this.#length;
    return copy;
  }
}
