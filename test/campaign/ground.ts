import { registryFiles, registryFor } from '../../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../../src/dev/local-stack/java-runtime.ts';
import { type LocalKafka, startKafka } from '../../src/dev/local-stack/kafka-cluster.ts';
import { startRegistry } from '../../src/dev/local-stack/registry.ts';
import type { StackContext } from '../../src/dev/local-stack/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import { innerListeners } from '../support/network/inner-listener.ts';
import { type SwitchablePort, switchablePort } from '../support/network/switchable-port.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';

/** What the connectors stand on: Kafka and registry, and what a campaign needs to disturb them. */
export interface Ground {
  readonly brokers: readonly string[];
  readonly registryUrl: string;
  /** Absent where the brokers belong to someone else: they are neither killed nor cut off. */
  readonly kafka?: LocalKafka;
  /** Before each broker; all its clients connect there, and no other broker. */
  readonly proxies: readonly TcpProxy[];
  /** Before the registry. */
  readonly registry?: { readonly port: SwitchablePort; readonly address: string };
  /** Before what each broker offers the other brokers, and itself. */
  readonly innerProxies?: readonly TcpProxy[];
  stop(): Promise<void>;
}

/** Kafka of its own behind proxies, with its data in `dataFolder` also after its end, and a registry behind a port that can refuse. */
export async function startGround(nodes: number, dataFolder: string, signal: AbortSignal): Promise<Ground> {
  const onProgress = (line: string) => console.log(line);
  const context: StackContext = { env: process.env, clock: systemClock, onProgress, signal };
  const java = await usableJava(process.env);
  const release = registryFor(java.version);
  if (release === undefined) throw new Error(`No registry runs on Java ${java.version}.`);
  await registryFiles(context, release);
  const ends: (() => unknown)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const proxies: TcpProxy[] = [];
    ends.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
    const inner = await innerListeners(nodes);
    ends.push(() => Promise.all(inner.proxies.map((proxy) => proxy.close())));
    const advertise = async (listener: string, nodeId: number) => {
      const proxy = await startTcpProxy({ broker: listener });
      proxies[nodeId - 1] = proxy;
      return proxy.address;
    };
    // A campaign that is asked to end still finishes its round: brokers that were killed must come back for that.
    const unending = new AbortController().signal;
    const kafka = await startKafka({
      ...context,
      signal: unending,
      java,
      nodes,
      advertise,
      dataFolder,
      settings: inner.settings,
    });
    ends.push(() => kafka.stop());
    const registry = await startRegistry({ ...context, java, release });
    ends.push(() => registry.stop());
    const { host, pathname } = new URL(registry.registryUrl);
    const port = await switchablePort({ after: (end) => void ends.push(end as () => unknown) }, { to: host });
    return {
      brokers: kafka.brokers,
      registryUrl: `http://${port.address}${pathname}`,
      kafka,
      proxies,
      innerProxies: inner.proxies,
      registry: { port, address: host },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
