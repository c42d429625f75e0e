import type { Dispatcher } from 'undici';
import { type NetworkOptions, openDispatcher } from './dispatcher.ts';

/** Connections to one origin that are replaced when the files change with which they were opened. */
export interface CurrentDispatcher {
  get(): Promise<Dispatcher>;
  /** Cuts what is under way and closes all connections. */
  close(): Promise<void>;
}

/** Requests under way end on the connections on which they began. */
export function openCurrentDispatcher(address: URL, network: NetworkOptions, connections: number): CurrentDispatcher {
  const { files } = network;
  let used = files?.latest();
  let dispatcher = openDispatcher(address, { ...network, ...used }, connections);
  const ending = new Set<Dispatcher>();
  return {
    async get() {
      const newest = await files?.get();
      if (newest === used) return dispatcher;
      const old = dispatcher;
      dispatcher = openDispatcher(address, { ...network, ...newest }, connections);
      used = newest;
      ending.add(old);
      old.close().then(
        () => ending.delete(old),
        () => ending.delete(old),
      );
      return dispatcher;
    },
    async close() {
      await Promise.all([dispatcher, ...ending].map((one) => one.destroy()));
    },
  };
}
