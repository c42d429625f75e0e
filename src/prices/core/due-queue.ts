import { WordRows } from '../../support/id-rows.ts';

/** A row of `WordRows` has two 32-bit integers: the numbers of the previous and the next row in its linked list, from 1. */
const BEFORE = 0;
const BEHIND = 1;
const WIDTH = 2;
const NONE = 0;

/** The list of the rows that are due at the same time, for example all instruments of a refresh slot. */
interface Moment {
  readonly dueMs: number;
  readonly number: number;
  /** The number of the first row, from 1; NONE if the list is empty and can be removed. */
  first: number;
}

/** Table rows by due time: a heap of linked lists, one list per due time, so that any row can be removed quickly. */
export class DueQueue {
  readonly #words = new WordRows(WIDTH);
  readonly #heap: Moment[] = [];
  readonly #moments = new Map<number, Moment>();
  /** The lists by number, from 1. The first row of a list has no previous row, and stores minus the list's number instead. */
  readonly #numbered: (Moment | undefined)[] = [undefined];
  readonly #freeNumbers: number[] = [];

  get firstMs(): number {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined) return Number.POSITIVE_INFINITY;
      if (first.first !== NONE) return first.dueMs;
      this.#forget(first);
    }
  }

  has(row: number): boolean {
    return this.#words.get(row, BEFORE) !== NONE;
  }

  /** Adds a row, or moves a row that is already in the queue. */
  put(row: number, dueMs: number): void {
    this.remove(row);
    const moment = this.#moments.get(dueMs) ?? this.#newMoment(dueMs);
    if (moment.first !== NONE) this.#words.set(moment.first - 1, BEFORE, row + 1);
    this.#words.set(row, BEHIND, moment.first);
    this.#words.set(row, BEFORE, -moment.number);
    moment.first = row + 1;
  }

  remove(row: number): void {
    const before = this.#words.get(row, BEFORE);
    if (before === NONE) return;
    const behind = this.#words.get(row, BEHIND);
    if (behind !== NONE) this.#words.set(behind - 1, BEFORE, before);
    if (before > 0) this.#words.set(before - 1, BEHIND, behind);
    else (this.#numbered[-before] as Moment).first = behind;
    this.#words.set(row, BEFORE, NONE);
  }

  /** Removes and returns a row that is due first; -1 if the queue is empty. */
  take(): number {
    const row = this.firstMs === Number.POSITIVE_INFINITY ? -1 : (this.#heap[0] as Moment).first - 1;
    if (row >= 0) this.remove(row);
    return row;
  }

  #newMoment(dueMs: number): Moment {
    const number = this.#freeNumbers.pop() ?? this.#numbered.length;
    const moment = { dueMs, number, first: NONE };
    this.#numbered[number] = moment;
    this.#moments.set(dueMs, moment);
    let at = this.#heap.length;
    while (at > 0) {
      const parent = this.#heap[(at - 1) >> 1] as Moment;
      if (parent.dueMs <= dueMs) break;
      this.#heap[at] = parent;
      at = (at - 1) >> 1;
    }
    this.#heap[at] = moment;
    return moment;
  }

  #forget({ dueMs, number }: Moment): void {
    this.#moments.delete(dueMs);
    this.#numbered[number] = undefined;
    this.#freeNumbers.push(number);
    const last = this.#heap.pop() as Moment;
    const size = this.#heap.length;
    if (size === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const smaller = right < size && this.#dueAt(right) < this.#dueAt(left) ? right : left;
      if (smaller >= size || this.#dueAt(smaller) >= last.dueMs) break;
      this.#heap[at] = this.#heap[smaller] as Moment;
      at = smaller;
    }
    this.#heap[at] = last;
  }

  #dueAt(at: number): number {
    return (this.#heap[at] as Moment).dueMs;
  }
}
