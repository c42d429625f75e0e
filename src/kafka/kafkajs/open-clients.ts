import type { LogClient } from '../log-client.ts';

/** Clients from their opening until they are closed, which takes its time: closing all waits for each. */
export class OpenClients {
  readonly #open = new Set<Promise<void>>();

  async using<Result>(client: LogClient, work: () => Promise<Result>): Promise<Result> {
    const closed = Promise.withResolvers<void>();
    this.#open.add(closed.promise);
    try {
      return await work();
    } finally {
      client.close().finally(() => {
        this.#open.delete(closed.promise);
        closed.resolve();
      });
    }
  }

  async closed(): Promise<void> {
    await Promise.all(this.#open);
  }
}
