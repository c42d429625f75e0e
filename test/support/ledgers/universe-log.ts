/** One record as a read_committed reader saw it, in the order of its partition; null is a tombstone. */
export interface KeyedContent {
  readonly key: string;
  /** The content, in any form that is equal for equal contents. */
  readonly content: string | null;
  /** Its place on the topic, its time and its origin, for those who look for the cause of a finding. */
  readonly place?: string;
}

/** What the provider did, by its own ledger, and what is on the topics. */
export interface UniverseLog {
  /** The contents that each instrument had, oldest first, by id. */
  readonly versions: ReadonlyMap<string, readonly string[]>;
  /** The instruments that exist now, with their content. */
  readonly universe: ReadonlyMap<string, string>;
  /** Every event that had to come, in the order of its publication. */
  readonly published: readonly KeyedContent[];
  /** The instruments topic, and the one of events. */
  readonly instruments: readonly KeyedContent[];
  readonly events: readonly KeyedContent[];
}

/** What is wrong, a sentence each; empty when the topics hold exactly what the provider did. */
export function universeViolations(log: UniverseLog): string[] {
  return [...wrongEnd(log), ...stepsBack(log), ...wrongEvents(log)];
}

/** Read to its end, the compacted topic is the universe: nothing missing, nothing left, every content the newest. */
function* wrongEnd({ instruments, universe }: UniverseLog): Generator<string> {
  const held = new Map<string, string>();
  for (const { key, content } of instruments) {
    if (content === null) held.delete(key);
    else held.set(key, content);
  }
  for (const [id, content] of universe) {
    if (!held.has(id)) yield `instrument ${id} is missing`;
    else if (held.get(id) !== content) yield `instrument ${id} is not as the provider has it`;
  }
  for (const id of held.keys()) if (!universe.has(id)) yield `instrument ${id} is a ghost`;
}

/** No record of an instrument is older than one before it. */
function* stepsBack({ instruments, versions }: UniverseLog): Generator<string> {
  const newest = new Map<string, number>();
  for (const { key, content } of instruments) {
    if (content === null) continue;
    const version = versions.get(key)?.lastIndexOf(content) ?? -1;
    if (version < 0) yield `instrument ${key} has a content that the provider never had`;
    if (version < (newest.get(key) ?? -1)) yield `instrument ${key} went back to version ${version}`;
    newest.set(key, version);
  }
}

/** Every event once, and those of one instrument in the provider's order. */
function* wrongEvents({ published, events }: UniverseLog): Generator<string> {
  const due = Map.groupBy(published, ({ key }) => key);
  const found = Map.groupBy(events, ({ key }) => key);
  for (const key of new Set([...due.keys(), ...found.keys()])) {
    const expected = (due.get(key) ?? []).map(({ content }) => content);
    const seen = (found.get(key) ?? []).map(({ content }) => content);
    if (expected.length !== seen.length)
      yield `instrument ${key} has ${seen.length} events, ${expected.length} were due`;
    else if (expected.some((content, index) => content !== seen[index]))
      yield `the events of ${key} differ or are out of order`;
  }
}
