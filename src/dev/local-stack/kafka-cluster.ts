import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConnectorError } from '../../errors.ts';
import { asProperties, type BrokerSettings, brokerSettings, type NodeAddress } from './broker-settings.ts';
import { freePorts } from './free-ports.ts';
import { kafkaJars, kafkaVersion } from './java-artifacts.ts';
import { type JavaProcess, startJavaProcess } from './java-process.ts';
import { type JavaRuntime, usableJava } from './java-runtime.ts';
import { answersApiVersions, answersCoordinators, hostAndPort, isUnfenced } from './probes.ts';
import { openWorkFolder, type StackContext, startTogether, untilReady, type WorkFolder } from './stack-context.ts';

const FORMAT_TIMEOUT_MS = 600_000;
const READY_LIMIT_MS = 600_000;
const HEAP_MB = 320;

const LOG_FLAGS = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
];

export interface LocalKafkaOptions extends StackContext {
  /** Broker settings that replace settings of the local stack. A function gets the addresses of the node. */
  readonly settings?: BrokerSettings | ((node: NodeAddress) => BrokerSettings);
  readonly nodes?: number;
  /** The folder of the data. `stop` keeps this folder. Without `dataFolder`, `stop` removes the data. */
  readonly dataFolder?: string;
  /**
   * Returns the address that a node advertises, such as the address of a proxy. Both addresses are host:port.
   */
  readonly advertise?: (listener: string, nodeId: number) => string | Promise<string>;
  readonly javaFlags?: readonly string[];
  readonly java?: JavaRuntime;
}

/** A cluster of Kafka brokers that keeps its ports and data while its nodes are killed and restarted. */
export interface LocalKafka {
  /** The addresses of the nodes' listeners, host:port, even if the nodes advertise other addresses. */
  readonly brokers: string[];
  pids(): number[];
  failures(): string[];
  /** Sends SIGKILL to one node (ids begin at 1), or to all nodes. Resolves when these processes have ended. */
  kill(nodeId?: number): Promise<void>;
  /**
   * Starts one node, or all nodes, again. Stops a node first if the node still runs. Resolves when consumer groups and
   * transactions can begin. The partitions of a single broker are then available. In a larger cluster, some partitions
   * may become available later.
   */
  restart(nodeId?: number): Promise<void>;
  /** Stops all nodes normally and removes the data, unless `dataFolder` was given. */
  stop(): Promise<void>;
}

/**
 * Starts Kafka from its Maven artifacts. Resolves when every node answers, and consumer groups and transactions can
 * begin.
 * @throws ConnectorError STACK_UNAVAILABLE without Java 17+ or Maven, or if Kafka does not start; then the logs remain.
 */
export async function startKafka(options: LocalKafkaOptions): Promise<LocalKafka> {
  const java = options.java ?? (await usableJava(options.env));
  const jars = await kafkaJars(options);
  const folder = await openWorkFolder('kafka', options.dataFolder);
  const addresses = await nodeAddresses(options);
  const nodes = createNodes(options, java, jars, folder, addresses);
  const chosen = (nodeId?: number) => nodes.filter((_node, index) => nodeId === undefined || index + 1 === nodeId);
  const failures = () => nodes.flatMap((node) => node.ended() ?? []);
  const stop = async (nodeId?: number) => {
    await Promise.all(chosen(nodeId).map((node) => node.stop()));
  };
  // All nodes start at once, because no node is ready before a majority of the nodes is connected.
  const start = async (nodeId?: number) => {
    const starts = chosen(nodeId).map((node) => async () => {
      await node.start();
      return node;
    });
    await startTogether<KafkaNode[]>(starts);
  };
  try {
    await start();
  } catch (error) {
    if (options.signal.aborted) await folder.remove();
    throw error;
  }
  return {
    brokers: addresses.map(({ listener }) => listener),
    pids: () => nodes.flatMap((node) => node.pid() ?? []),
    failures,
    kill: async (nodeId) => {
      await Promise.all(chosen(nodeId).map((node) => node.kill()));
    },
    restart: async (nodeId) => {
      await stop(nodeId);
      await start(nodeId);
    },
    stop: async () => {
      const failed = failures();
      await stop();
      // If a broker ended by itself, the folder stays, because the log in it contains the reason.
      for (const failure of failed) options.onProgress(failure);
      if (failed.length === 0) await folder.remove();
    },
  };
}

async function nodeAddresses(options: LocalKafkaOptions): Promise<NodeAddress[]> {
  const count = options.nodes ?? 1;
  const ports = await freePorts(2 * count);
  const addresses = Array.from({ length: count }, async (_none, index) => {
    const id = index + 1;
    const listener = `127.0.0.1:${ports[index]}`;
    const advertised = (await options.advertise?.(listener, id)) ?? listener;
    return { id, listener, advertised, controller: `127.0.0.1:${ports[count + index]}` };
  });
  return Promise.all(addresses);
}

function createNodes(
  options: LocalKafkaOptions,
  java: JavaRuntime,
  jars: string,
  folder: WorkFolder,
  addresses: readonly NodeAddress[],
): KafkaNode[] {
  const clusterId = newClusterId();
  const { settings = {} } = options;
  return addresses.map((address) =>
    createKafkaNode({
      context: options,
      java,
      javaFlags: options.javaFlags ?? [],
      jars,
      address,
      clusterId,
      folder: join(folder.path, `broker-${address.id}`),
      logFile: join(folder.path, `kafka-broker-${address.id}.log`),
      settings: brokerSettings(address, addresses, typeof settings === 'function' ? settings(address) : settings),
      removeWithOrphan: folder.isTemporary ? [folder.path] : [],
    }),
  );
}

/** Returns a random cluster id. `kafka-storage format` would read an id with a leading minus as an option. */
export function newClusterId(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, 'A');
}

interface KafkaNodeOptions {
  readonly context: StackContext;
  readonly java: JavaRuntime;
  readonly javaFlags: readonly string[];
  readonly jars: string;
  readonly address: NodeAddress;
  readonly clusterId: string;
  readonly folder: string;
  readonly logFile: string;
  readonly settings: BrokerSettings;
  /** Paths that are removed if this process is killed by SIGKILL. */
  readonly removeWithOrphan: readonly string[];
}

interface KafkaNode {
  /**
   * Resolves when the broker answers and can lead partitions and coordinate groups. Keeps the data of an earlier run.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  pid(): number | undefined;
  /** The reason if the broker ended by itself; undefined while the broker runs, and after `stop` or `kill`. */
  ended(): string | undefined;
}

function createKafkaNode(options: KafkaNodeOptions): KafkaNode {
  const { context, folder, address } = options;
  const settingsFile = join(folder, 'server.properties');
  const data = join(folder, 'data');
  let running: JavaProcess | undefined;

  const format = async () => {
    if (existsSync(join(data, 'meta.properties'))) return;
    const format = ['format', '--cluster-id', options.clusterId, '--config', settingsFile];
    try {
      await promisify(execFile)(
        options.java.program,
        ['-XX:TieredStopAtLevel=1', '-cp', join(options.jars, '*'), 'kafka.tools.StorageTool', ...format],
        { signal: context.signal, timeout: FORMAT_TIMEOUT_MS },
      );
    } catch (error) {
      context.signal.throwIfAborted();
      const { stderr } = error as { stderr?: string };
      const reason = stderr?.split('\n').find((line) => /exception|error/i.test(line)) ?? String(error);
      const message = `Kafka could not format its data folder ${data}: ${reason.trim().slice(0, 300)}`;
      throw new ConnectorError('STACK_UNAVAILABLE', message, { cause: error });
    }
  };

  const end = async (how: 'stop' | 'kill') => {
    const ending = running;
    running = undefined;
    await ending?.[how]();
  };

  return {
    async start() {
      await mkdir(folder, { recursive: true });
      await writeFile(settingsFile, asProperties({ ...options.settings, 'log.dirs': data }));
      await format();
      const started = await startJavaProcess({
        java: options.java,
        arguments: [...LOG_FLAGS, ...options.javaFlags, '-cp', join(options.jars, '*'), 'kafka.Kafka', settingsFile],
        maximumHeapMb: HEAP_MB,
        folder,
        logFile: options.logFile,
        removeWithOrphan: options.removeWithOrphan,
        clock: context.clock,
      });
      running = started;
      const { host, port } = hostAndPort(address.listener);
      // A test may configure a listener with TLS or credentials. The probe can use neither.
      const isPlain = options.settings.listeners?.startsWith(`PLAINTEXT://${address.listener}`);
      const serves = async () =>
        (await isUnfenced(host, port, address.id)) && answersCoordinators(host, port, address.id);
      const ready = untilReady({
        name: `Kafka ${kafkaVersion(context.env)} at ${address.listener}`,
        probe: async () => (await answersApiVersions(host, port)) && (!isPlain || serves()),
        ended: started.ended,
        limitMs: READY_LIMIT_MS,
        clock: context.clock,
        signal: context.signal,
        onProgress: context.onProgress,
      });
      await ready.catch(async (error: unknown) => {
        await end('kill');
        throw error;
      });
    },
    stop: () => end('stop'),
    kill: () => end('kill'),
    pid: () => running?.pid,
    ended: () => running?.ended(),
  };
}
