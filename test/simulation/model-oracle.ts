import type { SourceOffset } from '../../src/kafka/offset-store.ts';
import { isBehind, MODEL_RETENTION_MS, type ModelEvent, type ModelLedger } from './model-ledger.ts';
import type { ModelLog, ModelTransaction } from './model-log.ts';

/** What a small universe of the model may lose in one walk. */
const ALWAYS_ALLOWED = 2;
/** How long a lower offset is waited for in the model. */
const BEHIND_LIMIT_MS = 3_600_000;
/** The longest poll interval of such runs: what is over before the next poll is not seen. */
const UNSEEN_MS = 600_000;
/** Between an answer and its transaction. */
const MOMENT_MS = 1_000;
const LONG_SILENCE_MS = 6 * 86_400_000;

/**
 * What is wrong with a log; empty when all invariants hold after each of its transactions. It looks at what a
 * read_committed reader sees and at what the provider truly did, never at the core.
 */
export function logViolations(log: Pick<ModelLog, 'entries'>, ledger: ModelLedger): string[] {
  const oracle = new Oracle(ledger);
  for (const entry of log.entries) {
    if ('fence' in entry) oracle.fence(entry.fence);
    else if (entry.state === 'committed') oracle.transaction(entry);
  }
  return oracle.found;
}

class Oracle {
  readonly found: string[] = [];
  readonly #ledger: ModelLedger;
  readonly #topic = new Map<bigint, number | null>();
  readonly #seen = new Set<number>();
  /** Ids whose newest version a page has shown, and no event has reported. */
  readonly #shown = new Set<bigint>();
  /** Those of them whose event the log did not have yet, unnoticed. */
  readonly #unread = new Set<bigint>();
  #newestOrder = 0;
  #epoch = 0;
  #topicNow = 1;
  #offset: SourceOffset | null = null;
  /** When our offset, or one that was held, was first committed. */
  readonly #metMs = new Map<string, number>();
  #isDateTrue = true;

  constructor(ledger: ModelLedger) {
    this.#ledger = ledger;
  }

  fence(epoch: number): void {
    this.#epoch = epoch;
  }

  transaction(transaction: ModelTransaction): void {
    const { epoch, truth, offset } = transaction;
    if (epoch < this.#epoch) this.#wrong('I7', transaction, `epoch ${epoch} is visible after ${this.#epoch}`);
    if (transaction.topic !== this.#topicNow) {
      this.#topicNow = transaction.topic;
      this.#topic.clear();
      this.#shown.clear();
    }
    if (!truth.isDateTrue) this.#isDateTrue = false;
    this.#checkOffset(transaction);
    this.#forgetAgain(transaction);
    this.#checkEvents(transaction);
    this.#checkGap(transaction);
    this.#checkResumed(transaction);
    this.#checkInstruments(transaction);
    this.#checkTombstones(transaction);
    for (const place of [offset.since, offset.heldSince]) {
      if (!this.#metMs.has(String(place))) this.#metMs.set(String(place), transaction.atMs);
    }
    this.#offset = offset;
  }

  #checkOffset(transaction: ModelTransaction): void {
    const since = String(transaction.offset.since);
    const before = this.#offset === null ? null : String(this.#offset.since);
    if (this.#ledger.incarnationOf(since) === null) this.#wrong('I4', transaction, `nobody issued offset ${since}`);
    const isReset = transaction.notifications.some(({ kind }) => kind === 'streamReset');
    if (before !== null && isBehind(before, since) && !isReset) {
      this.#wrong('I4', transaction, `offset ${since} is lower than ${before}`);
    }
  }

  /** A lower offset that was adopted, as is reported, brings the events behind it again. */
  #forgetAgain({ notifications, offset }: ModelTransaction): void {
    if (!notifications.some(({ kind }) => kind === 'streamReset')) return;
    const since = String(offset.since);
    const again = this.#ledger.events.filter((event) => isBehind(event.offset, since));
    for (const { order } of again) this.#seen.delete(order);
    this.#newestOrder = Math.max(0, ...this.#seen);
  }

  /** Between two committed offsets every event of the filter is committed, once, in order, and no other. */
  #checkEvents(transaction: ModelTransaction): void {
    const { events, notifications, offset, atMs } = transaction;
    for (const { order } of events) {
      if (this.#seen.has(order)) this.#wrong('I2', transaction, `event ${order} is there twice`);
      if (order <= this.#newestOrder) this.#wrong('I3', transaction, `event ${order} follows ${this.#newestOrder}`);
      this.#seen.add(order);
      this.#newestOrder = Math.max(order, this.#newestOrder);
    }
    if (this.#offset === null) return;
    const before = String(this.#offset.since);
    const incarnation = this.#ledger.incarnationOf(before) ?? -1;
    const isGap = notifications.some(({ kind }) => kind === 'gapProven' || kind === 'streamReset');
    const isLoss = (event: ModelEvent) => isGap || this.#ledger.isDropped(event, atMs);
    const upTo = String(offset.since);
    const crossed = this.#ledger.incarnationOf(upTo) === incarnation;
    const due = crossed ? this.#ledger.between(before, upTo, incarnation).filter(({ hidden }) => !hidden) : [];
    for (const event of due) {
      if (!this.#seen.has(event.order) && !isLoss(event))
        this.#wrong('I1', transaction, `event ${event.order} is lost`);
    }
    for (const event of events) {
      if (!due.includes(event)) this.#wrong('I4', transaction, `event ${event.order} does not lie before its offset`);
    }
    const dropped = due.filter((event) => !this.#seen.has(event.order));
    if (dropped.length > 0 && !isGap && !this.#isNoticed(transaction)) {
      this.#wrong('gaps', transaction, `${dropped.length} events were dropped and nobody was reported`);
    }
  }

  #isNoticed({ notifications }: ModelTransaction): boolean {
    return notifications.some(({ kind }) => kind === 'gapSuspected') || this.#offset?.gapSuspectedFrom !== null;
  }

  #checkGap(transaction: ModelTransaction): void {
    const { notifications, atMs, truth } = transaction;
    const before = String(this.#offset?.since ?? '');
    const incarnation = this.#ledger.incarnationOf(before);
    for (const { kind } of notifications) {
      const isSilent = atMs - truth.streamAnsweredMs > LONG_SILENCE_MS;
      if (kind === 'gapSuspected' && this.#isDateTrue && !isSilent) {
        this.#wrong('gaps', transaction, 'a gap is suspected although the stream answered lately');
      }
      if (kind !== 'gapProven' && kind !== 'streamReset') continue;
      const isReset = incarnation !== this.#ledger.starts.length - 1 || this.#isBehindForLong(atMs);
      const isExpired = this.#ledger.events.some((e) => isBehind(e.offset, before) && this.#ledger.isDropped(e, atMs));
      // After a long absence, or a wrong date, an offset that stood still cannot be distinguished from an expired one: that may be
      // a false alarm, but nothing may be lost by it.
      const skipped = this.#ledger.between(before, String(transaction.offset.since), incarnation ?? -1);
      const isLoss = skipped.some(({ hidden, order }) => !hidden && !this.#seen.has(order));
      // An offset that stood still for longer than events are kept is taken for expired, and that is reported.
      const isOld = atMs - (this.#metMs.get(before) ?? 0) > MODEL_RETENTION_MS && this.#isNoticed(transaction);
      if (!isReset && !isExpired && !isOld && (isLoss || !this.#isNoticed(transaction))) {
        this.#wrong('I1', transaction, 'an offset was given up that was still served');
      }
    }
  }

  /** Whether replicas that are behind have answered for as long as a lower offset is waited for. */
  #isBehindForLong(atMs: number): boolean {
    let fromMs = atMs;
    for (let replica = this.#ledger.failOverAt(atMs - MOMENT_MS); replica !== undefined; ) {
      fromMs = replica.fromMs;
      replica = this.#ledger.failOverAt(fromMs - 1) ?? this.#ledger.failOverAt(fromMs - UNSEEN_MS);
    }
    return atMs - fromMs >= BEHIND_LIMIT_MS;
  }

  /** A walk that was resumed cannot determine what is gone, so a fresh one follows at once. */
  #checkResumed(transaction: ModelTransaction): void {
    const { notifications, offset } = transaction;
    for (const notification of notifications) {
      if (notification.kind !== 'walkCompleted' || !notification.resumed || offset.walkPending) continue;
      this.#wrong('I9', transaction, `no fresh walk follows walk ${notification.walk}, which was resumed`);
    }
  }

  #checkInstruments(transaction: ModelTransaction): void {
    for (const { id, version, from } of transaction.instruments) {
      const held = this.#topic.get(id) ?? null;
      // Where the list lags beyond the margin, what only a page has shown may be newer than the next page.
      const isOldPage = transaction.truth.listLags && from === 'page' && this.#shown.has(id);
      const isCovered = !this.#ledger.streamLags && !isOldPage && !(from === 'event' && this.#unread.has(id));
      if (version !== null && held !== null && version < held && isCovered) {
        this.#wrong('I6', transaction, `instrument ${id} goes back from version ${held} to ${version} by a ${from}`);
      }
      if (from === 'page' && version !== null && version === held) {
        this.#wrong('I2', transaction, `instrument ${id} is written again unchanged`);
      }
    }
  }

  #checkTombstones(transaction: ModelTransaction): void {
    const { instruments, atMs, truth, offset } = transaction;
    const alive = instruments.filter(
      ({ id, from }) =>
        from === 'sweep' &&
        this.#ledger.wasLiveThroughout(id, this.#ledger.asOfMs(truth.verifiedMs), atMs) &&
        !this.#isUnheard(id, transaction),
    );
    for (const { id, version, from } of instruments) {
      this.#topic.set(id, version);
      if (from === 'page') this.#shown.add(id);
      else this.#shown.delete(id);
      if (from === 'page' && this.#endsUnseen(transaction)) this.#unread.add(id);
      else this.#unread.delete(id);
    }
    // One that comes back while the log lags is named by no event yet.
    if (this.#ledger.streamLags) return;
    // A list that lost a little, or as much as an operator has allowed, cannot be distinguished from instruments that are gone.
    const isAllowed = this.#offset?.walkAllowShrink !== null;
    if (truth.truncated !== null && isAllowed) return;
    if (truth.truncated === 'hard' && alive.length <= ALWAYS_ALLOWED) return;
    for (const { id } of alive) {
      this.#wrong('I9', transaction, `instrument ${id} is deleted in walk ${offset.walk}, and it is there`);
    }
  }

  /** Whether a log that is behind a current list ends where the source has read it: nothing shows that it is behind. */
  #endsUnseen({ atMs, offset }: ModelTransaction): boolean {
    const replica = this.#ledger.failOvers.findLast(({ listIsCurrent, fromMs }) => listIsCurrent && fromMs <= atMs);
    if (replica === undefined) return false;
    const newest = this.#ledger.events.findLast(({ publishedMs }) => publishedMs <= replica.fromMs - replica.lagMs);
    return !isBehind(String(offset.since), newest?.offset ?? this.#ledger.starts.at(-1)?.offset ?? '');
  }

  /** Whether the newest event of an instrument was lost in a gap: then a list that lags is the only one to know of it. */
  #isUnheard(id: bigint, { atMs, offset }: ModelTransaction): boolean {
    const newest = this.#ledger.events.findLast((event) => event.id === id && event.publishedMs <= atMs);
    if (newest === undefined || this.#seen.has(newest.order)) return false;
    const since = String(offset.since);
    return newest.incarnation !== this.#ledger.incarnationOf(since) || !isBehind(newest.offset, since);
  }

  #wrong(invariant: string, { atMs }: ModelTransaction, what: string): void {
    this.found.push(`${invariant} at ${atMs} ms: ${what}`);
  }
}

/** What differs between the topic and the universe at a moment when everything is quiet (I5). Dead rows are left out. */
export function universeViolations(
  topic: ReadonlyMap<bigint, number | null>,
  ledger: ModelLedger,
  atMs: number,
): string[] {
  const found: string[] = [];
  for (const id of new Set([...ledger.ids(), ...topic.keys()])) {
    const state = ledger.stateAt(id, atMs);
    const held = topic.get(id) ?? null;
    if (state?.dead) continue;
    const due = state?.version ?? null;
    if (held !== due) found.push(`I5: instrument ${id} has version ${held ?? 'none'}, the provider ${due ?? 'none'}`);
  }
  return found;
}
