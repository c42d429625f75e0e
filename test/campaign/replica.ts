import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALLOCATOR, NODE_FLAGS } from '../support/connectors/connector-process.ts';
import type { KillMoment } from '../support/kafka/killing-kafka.ts';
import type { FromReplica, ToReplica, Usage } from './messages.ts';

const SCRIPT = new URL('./connector.ts', import.meta.url).pathname;
/** Also on a busy machine no turn of the event loop takes as long, nor a pause of the whole process, which is over by then. */
const USAGE_LIMIT_MS = 60_000;
/** A start reads the compiled program, as that of a built image does; TypeScript alone takes a second of CPU each time. */
const COMPILED = join(tmpdir(), 'campaign-compiled');

export type Reported = Extract<FromReplica, { readonly event: string }>;

/** One process of a connector. */
export interface Replica {
  readonly name: string;
  isRunning(): boolean;
  /** Whether its end was asked for, by a signal or a moment; any other end is a fault. */
  isDoomed(): boolean;
  signal(name: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void;
  /** It kills itself when its transactions come to this moment. */
  arm(moment: KillMoment): void;
  /** @throws Error when it does not answer: it stands still, or does something else without end. */
  /** @throws Error when it does not answer: it stands still, or does something else without end. */
  usage(): Promise<Usage>;
  /** Resolves when it has ended, with the time. */
  readonly ended: Promise<{ readonly atMs: number; readonly code: number | null }>;
}

export function startReplica(options: {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly onReport: (replica: Replica, report: Reported) => void;
}): Replica {
  const { name, env, logFile, onReport } = options;
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, [...NODE_FLAGS, SCRIPT], {
    env: { ...ALLOCATOR, NODE_COMPILE_CACHE: COMPILED, ...env },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  let isDoomed = false;
  const usages: ((usage: Usage) => void)[] = [];
  const send = (message: ToReplica) => void (child.connected && child.send(message, () => undefined));
  const ended = endOf(child);
  const replica: Replica = {
    name,
    ended,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    isDoomed: () => isDoomed,
    signal(signalName) {
      if (signalName === 'SIGKILL' || signalName === 'SIGTERM') isDoomed = true;
      child.kill(signalName);
    },
    arm(moment) {
      isDoomed = true;
      send({ ask: 'arm', moment });
    },
    usage() {
      const { promise, resolve, reject } = Promise.withResolvers<Usage>();
      const late = setTimeout(() => reject(new Error(`${name} does not answer`)), USAGE_LIMIT_MS);
      usages.push(resolve);
      send({ ask: 'usage' });
      return promise.finally(() => clearTimeout(late));
    },
  };
  child.on('message', (message: FromReplica) => {
    if ('usage' in message) usages.shift()?.(message.usage);
    else onReport(replica, message);
  });
  return replica;
}

async function endOf(child: ChildProcess) {
  const [code] = await once(child, 'exit');
  return { atMs: Date.now(), code: code as number | null };
}

/** Has the program compiled for the starts to come: what is killed keeps nothing for the next. */
export async function compileProgram(): Promise<void> {
  const child = spawn(process.execPath, [SCRIPT], {
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: COMPILED, COMPILE_ONLY: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await once(child, 'exit');
}
