import type { Secret } from '../config/secret.ts';
import { type CurrentFiles, type NetworkFiles, openCurrentFiles } from '../provider/http/current-files.ts';
import { usableFiles } from '../provider/http/dispatcher.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

const FILES = ['ca', 'cert', 'key', 'proxy'] as const;
type FileSettings = { readonly [Name in (typeof FILES)[number]]?: Secret | null };

export async function readFiles(settings: FileSettings): Promise<NetworkFiles> {
  return Object.fromEntries(await Promise.all(FILES.map(async (name) => [name, await settings[name]?.readNow()])));
}

/** The certificates and proxy of a group of settings, read again after a change; undefined if the group has none. */
export async function networkFiles(
  name: string,
  settings: FileSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<CurrentFiles<NetworkFiles> | undefined> {
  if (!FILES.some((name) => settings[name])) return undefined;
  return openCurrentFiles({
    name,
    read: () => readFiles(settings),
    make: (files) => usableFiles(name, files),
    clock,
    log,
  });
}
