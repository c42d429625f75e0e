import { isDeepStrictEqual } from 'node:util';
import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';

const LOOK_EVERY_MS = 1_000;

/** PEM text for connections, and the address of a proxy. The address can contain a login. */
export interface NetworkFiles {
  readonly ca?: string | undefined;
  /** Our own certificate and its key, if the server requires a client certificate. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly proxy?: string | undefined;
}

/**
 * The current content of a client's files. While the files are replaced, a file is perhaps unreadable, or a key does
 * not belong to its certificate. Then the last usable content stays in use.
 */
export interface CurrentFiles<Made> {
  /** The object that `make` returned for the current files; the same object while the files do not change. */
  get(): Promise<Made>;
  /** For code that cannot wait: the object of the last check. Each call starts a check for the next call. */
  latest(): Made;
}

interface CurrentFilesOptions<Made> {
  readonly name: string;
  readonly read: () => Promise<NetworkFiles>;
  readonly make: (files: NetworkFiles) => Made;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

export async function openCurrentFiles<Made>(options: CurrentFilesOptions<Made>): Promise<CurrentFiles<Made>> {
  const { name, read, make, clock, log } = options;
  let files = await read();
  let made = make(files);
  let lookAtMs = clock.monotonicMs() + LOOK_EVERY_MS;
  let looking: Promise<void> | undefined;
  let problem = '';

  async function look(): Promise<void> {
    lookAtMs = clock.monotonicMs() + LOOK_EVERY_MS;
    try {
      const found = await read();
      if (isDeepStrictEqual(found, files)) {
        problem = '';
        return;
      }
      made = make(found);
      files = found;
      problem = '';
      log.info({ client: name }, 'certificates or proxy have changed; new connections use the new files');
    } catch (error) {
      const found = error instanceof Error ? error.message : 'unreadable';
      if (found === problem) return;
      problem = found;
      const code = error instanceof ConnectorError ? error.code : undefined;
      log.warn(
        { client: name, code, problem },
        'changed certificates or proxy cannot be used; the last good files are kept',
      );
    }
  }

  function lookAgain(): Promise<void> {
    if (looking === undefined && clock.monotonicMs() < lookAtMs) return Promise.resolve();
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    async get() {
      await lookAgain();
      return made;
    },
    latest() {
      void lookAgain();
      return made;
    },
  };
}
