import { readdirSync, readlinkSync } from 'node:fs';
import type { KillMoment } from '../support/kafka/killing-kafka.ts';

/** What a replica reports of all that happens in it. */
export const REPORTED = [
  'replicaJoined',
  'pageCommitted',
  'streamCommitted',
  'sourceFailed',
  'processorFailed',
] as const;

export type FromReplica =
  | { readonly event: (typeof REPORTED)[number]; readonly atMs: number; readonly text: string }
  | { readonly usage: Usage };

/** `usage` asks for one, `arm` has the replica kill itself at the moment. */
export type ToReplica = { readonly ask: 'usage' } | { readonly ask: 'arm'; readonly moment: KillMoment };

/** What a process holds, at one moment. */
export interface Usage {
  readonly rssMiB: number;
  readonly heapMiB: number;
  readonly sockets: number;
  readonly timers: number;
  /** Everything that Node.js keeps open for it, timers and sockets among it. */
  readonly handles: number;
}

const MIB = 1_048_576;

/** That of this process. */
export function usageNow(): Usage {
  const { rss, heapUsed } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  return {
    rssMiB: rss / MIB,
    heapMiB: heapUsed / MIB,
    sockets: openSockets() ?? resources.filter((name) => name.startsWith('TCP')).length,
    timers: resources.filter((name) => name === 'Timeout').length,
    handles: resources.length,
  };
}

/** Those of the operating system, where it shows them (Linux). */
function openSockets(): number | null {
  try {
    return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith('socket:')).length;
  } catch {
    return null;
  }
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
