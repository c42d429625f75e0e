import type { TransactionalWriter } from './transactional-writer.ts';

/** The writers that a client's end must close: each from its opening until its user closes it. */
export class OpenWriters {
  readonly #open = new Set<TransactionalWriter>();

  /** The writer as its user gets it. */
  watched(writer: TransactionalWriter): TransactionalWriter {
    return {
      open: (readPosition, signal) => {
        this.#open.add(writer);
        return writer.open(readPosition, signal);
      },
      commit: (transaction) => writer.commit(transaction),
      close: async () => {
        await writer.close();
        this.#open.delete(writer);
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((writer) => writer.close()));
  }
}
