import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runWhenOrphaned } from '../../src/dev/local-stack/java-process.ts';
import { ConnectorError } from '../../src/errors.ts';
import { findProgram, run } from './run.ts';

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 30_000;
const INSTALL_LIMIT_MS = 300_000;
const PACKAGES = ['docker.io', 'iptables'];
/** The daemon ends its containers with itself. */
const TIDY_UP = 'kill "$1"; while kill -0 "$1" 2>/dev/null; do sleep 1; done; rm -rf "$2"';

export interface DockerEngine {
  /** Whether it was started here, and holds nothing of anybody else. */
  readonly isOwn: boolean;
  docker(args: readonly string[], limitMs?: number): Promise<string>;
  /** Ends what was started here, with all its images and data. */
  stop(): Promise<void>;
}

/**
 * The daemon that the environment names or that runs here; else one of our own, where we are root and dockerd is
 * installed, with a folder and a socket of its own. DOCKER_HOST then names it, for compose and testcontainers too.
 *
 * @param options.mayInstall whether what is missing may be installed with apt-get
 * @throws ConnectorError STACK_UNAVAILABLE with what is missing
 */
export async function findDockerEngine(options: { readonly mayInstall: boolean }): Promise<DockerEngine> {
  const isRoot = process.getuid?.() === 0;
  if (options.mayInstall && isRoot) await installMissing();
  if ((await findProgram('docker')) === undefined) throw missing('there is no program docker');
  const answer = await docker(['version', '--format', '{{.Server.Version}}']).catch((error: Error) => error);
  if (typeof answer === 'string') return { isOwn: false, docker, stop: async () => undefined };
  if (!isRoot) throw new ConnectorError('STACK_UNAVAILABLE', 'no Docker daemon answers, and only root may start one');
  const dockerd = await findProgram('dockerd');
  if (dockerd === undefined) throw missing('no Docker daemon answers, and there is no program dockerd');
  return startEngine(dockerd);
}

function docker(args: readonly string[], limitMs?: number): Promise<string> {
  return run('docker', args, limitMs === undefined ? {} : { limitMs });
}

function missing(what: string): ConnectorError {
  return new ConnectorError('STACK_UNAVAILABLE', `${what}; as root, --install gets Debian's docker.io with apt-get`);
}

async function installMissing(): Promise<void> {
  const found = await Promise.all(['docker', 'dockerd', 'iptables'].map(findProgram));
  if (!found.includes(undefined)) return;
  await run('apt-get', ['update'], { limitMs: INSTALL_LIMIT_MS });
  const packages = [...PACKAGES];
  // Newer Debians have the client in a package of its own.
  if (await run('apt-cache', ['show', 'docker-cli']).catch(() => '')) packages.push('docker-cli');
  const args = ['install', '--yes', '--no-install-recommends', ...packages];
  await run('apt-get', args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, limitMs: INSTALL_LIMIT_MS });
}

async function startEngine(program: string): Promise<DockerEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'docker-'));
  const at = (name: string) => join(folder, name);
  const places = ['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid')];
  const socket = `unix://${at('docker.sock')}`;
  const log = await open(at('log'), 'w');
  const daemon = spawn(program, [...places, '--host', socket], {
    stdio: ['ignore', log.fd, log.fd],
    // Ctrl-C in the terminal is for us: containers are taken down first.
    detached: true,
  });
  await log.close();
  const endWatch = runWhenOrphaned(TIDY_UP, [String(daemon.pid), folder], process.env);
  const before = process.env.DOCKER_HOST;
  process.env.DOCKER_HOST = socket;
  const stop = async () => {
    await endDaemon(daemon);
    endWatch();
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
    await rm(folder, { recursive: true, force: true });
  };
  const deadline = AbortSignal.timeout(START_LIMIT_MS);
  while (!(await docker(['version']).catch(() => ''))) {
    if (deadline.aborted || daemon.exitCode !== null) {
      const words = (await readFile(at('log'), 'utf8')).trim().split('\n').slice(-3).join('\n');
      await stop();
      throw new ConnectorError('STACK_UNAVAILABLE', `dockerd did not start; its last words:\n${words}`);
    }
    await pause(200);
  }
  return { isOwn: true, docker, stop };
}

async function endDaemon(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  const tooLate = new AbortController();
  const kill = pause(STOP_LIMIT_MS, undefined, { signal: tooLate.signal }).then(
    () => daemon.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  tooLate.abort();
  await kill;
}
