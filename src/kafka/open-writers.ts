import type { TransactionalWriter } from './transactional-writer.ts';

/** A writer whose connections outlive it for a moment. */
export interface ConnectedWriter extends TransactionalWriter {
  /** Resolves when the connections of the closed writer are closed as well, or are left to themselves. Never rejects. */
  disconnected(): Promise<void>;
}

/** The writers that a client's end must close: each from its opening until its user closes it, and its connections. */
export class OpenWriters {
  readonly #open = new Set<ConnectedWriter>();
  readonly #disconnecting = new Set<Promise<void>>();

  /** The writer as its user gets it. */
  watched(writer: ConnectedWriter): TransactionalWriter {
    return {
      open: (readPosition, signal) => {
        this.#open.add(writer);
        return writer.open(readPosition, signal);
      },
      commit: (transaction) => writer.commit(transaction),
      close: () => this.#close(writer),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((writer) => this.#close(writer)));
    await Promise.all(this.#disconnecting);
  }

  async #close(writer: ConnectedWriter): Promise<void> {
    await writer.close();
    this.#open.delete(writer);
    const gone = writer.disconnected().finally(() => this.#disconnecting.delete(gone));
    this.#disconnecting.add(gone);
  }
}
