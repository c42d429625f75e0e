import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type BrokerSettings, brokerSettings, type NodeAddress } from './broker-settings.ts';
import { freePorts } from './free-ports.ts';
import { kafkaJars } from './java-artifacts.ts';
import { type JavaRuntime, usableJava } from './java-runtime.ts';
import { createKafkaNode, type KafkaNode } from './kafka-node.ts';
import type { StackContext } from './stack-context.ts';
import { startTogether } from './start-together.ts';
import { openWorkFolder, type WorkFolder } from './work-folder.ts';

export interface LocalKafkaOptions extends StackContext {
  /** Added to the quick settings of the broker, and stronger; those of a node can build on its addresses. */
  readonly settings?: BrokerSettings | ((node: NodeAddress) => BrokerSettings);
  /** How many brokers, 1 by default; each is a Java process of about 300 MB. */
  readonly nodes?: number;
  /** Kept at the end. Without it, the data is in a temporary folder that goes with the cluster. */
  readonly dataFolder?: string;
  /** What a node advertises to its clients, for example a proxy before its listener: both host:port. */
  readonly advertise?: (listener: string, nodeId: number) => string | Promise<string>;
  /** Flags of the Java processes beside the usual ones. */
  readonly javaFlags?: readonly string[];
  /** Found by itself when not given. */
  readonly java?: JavaRuntime;
}

/** A cluster of Kafka brokers that keeps its ports and data while its nodes are killed and restarted. */
export interface LocalKafka {
  /** Where the nodes listen, host:port, whatever they advertise. */
  readonly brokers: string[];
  /** The process ids of the nodes that run. */
  pids(): number[];
  /** Why nodes ended unexpectedly; empty when all is well. */
  failures(): string[];
  /** SIGKILL, to all nodes or one (from 1). Resolves when they are gone. */
  kill(nodeId?: number): Promise<void>;
  /**
   * Starts all nodes or one again, after an orderly end when they still run. Resolves when groups and transactions can
   * begin; a single broker serves all its partitions then, one of several may still be getting its own back.
   */
  restart(nodeId?: number): Promise<void>;
  /** Ends what runs in good order and removes the data, unless a folder for it was given. */
  stop(): Promise<void>;
}

/**
 * Starts Kafka from its Maven artifacts. Resolves when every node answers, and groups and transactions can begin.
 *
 * @throws ConnectorError STACK_UNAVAILABLE without Java 17+ or Maven, or when Kafka does not start: the logs stay then.
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
  // All at once: in a cluster, no node is ready before most of them have met.
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
      // A log that says why a broker ended is worth more than a tidy folder.
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

/** What the tool that formats a data folder takes as an id; it would read a leading minus as an option. */
export function newClusterId(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, 'A');
}
