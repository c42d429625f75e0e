/** Something that is due at some time; a queue keeps its place in `place`, -1 outside of any. */
export interface Due {
  dueMs: number;
  place: number;
}

/** What is due, the earliest first: a binary heap whose items know their place, so that any of them can leave. */
export class DueQueue<Item extends Due> {
  readonly #heap: Item[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get first(): Item | undefined {
    return this.#heap[0];
  }

  /** Puts an item in, or moves it when it is in already. */
  put(item: Item, dueMs: number): void {
    item.dueMs = dueMs;
    if (item.place < 0) {
      item.place = this.#heap.length;
      this.#heap.push(item);
    }
    this.#rise(item);
    this.#sink(item);
  }

  /** Takes an item out; one that is not in stays out. */
  remove(item: Item): void {
    const { place } = item;
    if (place < 0) return;
    item.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    this.#set(last, place);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(item: Item): void {
    while (item.place > 0) {
      const parent = this.#heap[(item.place - 1) >> 1];
      if (parent === undefined || parent.dueMs <= item.dueMs) return;
      this.#swap(parent, item);
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const left = this.#heap[2 * item.place + 1];
      const right = this.#heap[2 * item.place + 2];
      const smaller = right !== undefined && left !== undefined && right.dueMs < left.dueMs ? right : left;
      if (smaller === undefined || smaller.dueMs >= item.dueMs) return;
      this.#swap(item, smaller);
    }
  }

  #swap(upper: Item, lower: Item): void {
    const { place } = upper;
    this.#set(upper, lower.place);
    this.#set(lower, place);
  }

  #set(item: Item, place: number): void {
    item.place = place;
    this.#heap[place] = item;
  }
}
