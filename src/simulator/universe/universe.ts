import type { SimulatorClock } from '../clock.ts';
import { IdList } from '../id-list.ts';
import { type InstrumentVersion, ISSUED } from './instrument-version.ts';
import { mix } from './random.ts';

/** One instrument of the universe at one moment. */
export interface Member {
  readonly id: bigint;
  readonly version: InstrumentVersion;
}

/** The instruments that exist: the truth, and the list's possibly older view of it. */
export interface Universe {
  readonly size: number;
  has(id: bigint): boolean;
  idAt(index: number): bigint | undefined;
  /** The version of an instrument, or the first version of one that does not exist. */
  versionOf(id: bigint): InstrumentVersion;
  /** Adds an instrument or replaces its version. */
  put(id: bigint, version: InstrumentVersion): void;
  /** Takes it out of the list; it may come back. */
  remove(id: bigint): void;
  /** A new id just above the ordinary ones, below those beyond 2^53. */
  nextId(): bigint;
  /** All members from an id on, ascending, as they are now. */
  members(from: bigint): Iterable<Member>;
  /** By how much the next answer of the list endpoint lags. */
  nextListLagMs(): number;
  /** The members as the list endpoint sees them, which lags by so much. */
  listed(from: bigint, lagMs: number): Iterable<Member>;
  /** From now on the list lags by this, or up to this; what it shows now it shows for so long. */
  setListLag(ms: number): void;
}

const FIRST_ID = 1_000_000n;
/** Ids have gaps, as real ones do. */
const ID_STEP = 7;
/** The first id that a double cannot hold. */
const BEYOND_DOUBLES = 2n ** 53n + 1n;

interface Change {
  readonly atMs: number;
  readonly id: bigint;
  readonly version: InstrumentVersion | null;
}

export interface UniverseOptions {
  readonly seed: number;
  readonly instruments: number;
  /** How many of them have ids beyond 2^53. */
  readonly hugeIds: number;
  /** How far the list may lag behind; 0 for not at all. */
  readonly listLagMs: number;
  /** Whether each response lags by another amount up to the limit, as replicas do, or always by the whole limit. */
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
  // Bounded by the changes of one lag, since applyUntil() takes out what is older.
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
      // Not the highest that is left, since an id is never given to a second instrument.
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

/** Merges the stored ids with changes that are laid over them. */
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
