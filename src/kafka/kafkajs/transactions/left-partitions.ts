import type { TopicPartition } from '../../topic.ts';
import type { Ending } from './writer-producer.ts';

/**
 * The partitions that a writer was open for and is not now, as those of a source that is held back while a broker is away.
 * What hangs there is of the transaction before the opening that left them out, not of the last one.
 */
export class LeftPartitions {
  #opened: ReadonlySet<string> = new Set();
  readonly #endings = new Map<string, Ending>();

  /** What hangs in these partitions has ended in this way, or in their own. */
  opened(partitions: readonly TopicPartition[], ending: Ending): void {
    const now = new Set(partitions.map(nameOf));
    for (const name of this.#opened) if (!now.has(name) && !this.#endings.has(name)) this.#endings.set(name, ending);
    for (const name of now) this.#endings.delete(name);
    this.#opened = now;
  }

  /** Those of the partitions in which what hangs does not end in this way. */
  endingOtherwise(partitions: readonly TopicPartition[], ending: Ending): readonly TopicPartition[] {
    return partitions.filter((at) => (this.#endings.get(nameOf(at)) ?? ending) !== ending);
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
