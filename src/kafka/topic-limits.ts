import type { TopicReport } from './topic.ts';

/** The largest record batch that each topic takes, in bytes, as far as it is known. */
export class TopicLimits {
  readonly #maxMessageBytes = new Map<string, number>();

  of(topic: string): number | undefined {
    return this.#maxMessageBytes.get(topic);
  }

  /** @returns whether any topic takes less than before. */
  learn(found: TopicReport['maxMessageBytes']): boolean {
    let takesLess = false;
    for (const [topic, bytes] of found) {
      if (bytes < (this.of(topic) ?? Number.POSITIVE_INFINITY)) takesLess = true;
      this.#maxMessageBytes.set(topic, bytes);
    }
    return takesLess;
  }
}
