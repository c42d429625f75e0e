import type { Secret } from '../config/secret.ts';
import { type CurrentFiles, type NetworkFiles, openCurrentFiles } from '../provider/http/current-files.ts';
import { usableFiles } from '../provider/http/dispatcher.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

interface FileSettings {
  readonly ca?: Secret | null;
  readonly cert?: Secret | null;
  readonly key?: Secret | null;
  readonly proxy?: Secret | null;
}

export async function readFiles({ ca, cert, key, proxy }: FileSettings): Promise<NetworkFiles> {
  const [caText, certText, keyText, proxyText] = await Promise.all(
    [ca, cert, key, proxy].map((file) => file?.readNow()),
  );
  return { ca: caText, cert: certText, key: keyText, proxy: proxyText };
}

/** The certificates and proxy of a group of settings, read again after a change; undefined if the group has none. */
export async function networkFiles(
  name: string,
  settings: FileSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<CurrentFiles<NetworkFiles> | undefined> {
  const { ca, cert, key, proxy } = settings;
  if (![ca, cert, key, proxy].some(Boolean)) return undefined;
  return openCurrentFiles({
    name,
    read: () => readFiles(settings),
    make: (files) => usableFiles(name, files),
    clock,
    log,
  });
}
