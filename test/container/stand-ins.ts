import { copyFile, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { parse } from 'yaml';
import { ensureImage } from '../../src/dev/local-stack/docker-stack.ts';
import {
  KAFKA_VERSION,
  kafkaJars,
  REGISTRY_RELEASES,
  registryFiles,
} from '../../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../../src/dev/local-stack/java-runtime.ts';
import type { StackContext } from '../../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../../src/errors.ts';
import { parseDockerfile } from '../support/documents/dockerfile.ts';
import { prometheusPrograms } from '../support/documents/promtool.ts';
import type { DockerEngine } from './docker-engine.ts';
import { addLibraries, createMachineRoot, makeWritable, putFolder, putProgram } from './machine-root.ts';
import { findProgram, run } from './run.ts';

/** What takes the place of an image that cannot be pulled. */
interface StandIn {
  /** What is real in it and what is not, for the reader of the outcome. */
  readonly what: string;
  /** What the image says beside its files, as instructions of a Dockerfile. */
  readonly changes: readonly string[];
  /**
   * Adds to a root that has a shell already.
   *
   * @throws ConnectorError STACK_UNAVAILABLE when this machine lacks what it is made of
   */
  fill(root: string, context: StackContext): Promise<void>;
}

const NPM = 'usr/local/lib/node_modules/npm';
const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';

/** This very Node.js, with the npm of this machine and the registry and authorities that it is set up for. */
const node: StandIn = {
  what: `Node.js ${process.versions.node} of this clone and the npm of this machine`,
  changes: ['CMD ["node"]'],
  async fill(root) {
    await addNode(root);
    const npm = await findNpm();
    await putFolder(npm, join(root, NPM));
    await symlink(`../lib/node_modules/npm/bin/npm-cli.js`, join(root, 'usr/local/bin/npm'));
    const setting = async (name: string) => {
      const value = await run('npm', ['config', 'get', name]);
      return value === 'null' || value === 'undefined' ? undefined : value;
    };
    const authorities = (await setting('cafile')) ?? process.env.NODE_EXTRA_CA_CERTS;
    if (authorities) await copyFile(authorities, join(root, CERTIFICATES));
    const registry = await setting('registry');
    await mkdir(join(root, 'usr/local/etc'), { recursive: true });
    // An address with a login in it does not go into an image.
    const lines = [
      ...(authorities ? [`cafile=/${CERTIFICATES}`] : []),
      ...(registry && !registry.includes('@') ? [`registry=${registry}`] : []),
      'update-notifier=false',
    ];
    await writeFile(join(root, 'usr/local/etc/npmrc'), `${lines.join('\n')}\n`);
  },
};

async function addNode(root: string): Promise<void> {
  await putProgram(process.execPath, join(root, 'usr/local/bin/node'));
  await addLibraries(root, [process.execPath]);
}

async function findNpm(): Promise<string> {
  const command = process.env.npm_execpath ?? (await findProgram('npm'));
  if (command === undefined) throw new ConnectorError('STACK_UNAVAILABLE', 'there is no npm on the path');
  return dirname(dirname(await realpath(command)));
}

/** A program of this folder under Node.js, for what is no real program here. */
function smallServer(options: {
  /** What it is, and is not, for the output. */
  readonly what: string;
  readonly program: string;
  readonly user: number;
  readonly port: number;
}): StandIn {
  const { what, program, user, port } = options;
  return {
    what,
    changes: [`USER ${user}`, `EXPOSE ${port}`, `CMD ["node","/${program}"]`],
    async fill(root) {
      await addNode(root);
      for (const file of [program, 'answering.ts']) {
        await copyFile(new URL(`stand-ins/${file}`, import.meta.url), join(root, file));
      }
    },
  };
}

const grafana = smallServer({
  what: 'NO Grafana, but a server that reads the provisioning and the dashboards where Grafana would, and asks the data source',
  program: 'grafana-server.ts',
  user: 472,
  port: 3000,
});

const kafkaUi = smallServer({
  what: 'NO Kafka UI, but a server that calls the connector, the registry and the broker that its variables name',
  program: 'kafka-ui-server.ts',
  user: 100,
  port: 8080,
});

const prometheus: StandIn = {
  what: "a real Prometheus, Debian's or the one on the path, perhaps of another version",
  changes: [
    'USER nobody',
    'EXPOSE 9090',
    'VOLUME /prometheus',
    'WORKDIR /prometheus',
    'ENTRYPOINT ["/bin/prometheus"]',
    'CMD ["--config.file=/etc/prometheus/prometheus.yml","--storage.tsdb.path=/prometheus"]',
  ],
  async fill(root) {
    const program = (await findProgram('prometheus')) ?? join(await downloaded(), 'prometheus');
    await putProgram(program, join(root, 'usr/bin/prometheus'));
    await addLibraries(root, [program]);
    await makeWritable(root, 'prometheus');
  },
};

async function downloaded(): Promise<string> {
  try {
    return await prometheusPrograms();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.slice(0, 300) : String(cause);
    throw new ConnectorError('STACK_UNAVAILABLE', `Prometheus is not on the path, and Debian's package: ${why}`, {
      cause,
    });
  }
}

const [REGISTRY] = REGISTRY_RELEASES;
const JAVA_HOME = 'opt/java';
/** What a JDK has for people and for compilers, and what draws windows. */
const NOT_TO_RUN =
  /^\/(jmods|demo|man|legal|include|sample|docs|lib\/src\.zip|lib\/ct\.sym|lib\/.*(awt_xawt|splashscreen).*)$/;

/** What the image's own start does: its program makes server.properties of the environment and formats the storage. */
const RUN_KAFKA = `#!/bin/bash
CLUSTER_ID=\${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}
kafka() { /opt/java/bin/java -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper "$@"; }
result=$(kafka setup --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config \\
  --final-configs-dir /opt/kafka/config 2>&1) || [[ $result == *'already formatted'* ]] || { echo "$result"; exit 1; }
exec /opt/java/bin/java \${KAFKA_HEAP_OPTS:--Xmx512m} -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
`;

const kafka: StandIn = {
  what: `Kafka ${KAFKA_VERSION} from its Maven artifacts, started and set up by the image's own program`,
  changes: ['USER appuser', 'EXPOSE 9092', 'VOLUME /var/lib/kafka/data', 'CMD ["/etc/kafka/docker/run"]'],
  async fill(root, context) {
    await addJava(root, context);
    await putFolder(await kafkaJars(context), join(root, 'opt/kafka/libs'));
    for (const folder of ['opt/kafka/config', 'mnt/shared/config', 'var/lib/kafka/data', 'etc/kafka/docker']) {
      await makeWritable(root, folder);
    }
    const put = (path: string, text: string) => writeFile(join(root, path), text, { mode: 0o755 });
    await put('etc/kafka/docker/run', RUN_KAFKA);
    await put('etc/kafka/docker/server.properties', 'process.roles=broker,controller\n');
    for (const name of ['log4j2.yaml', 'tools-log4j2.yaml']) await put(`etc/kafka/docker/${name}`, '{}\n');
  },
};

const registry: StandIn = {
  what: `Apicurio Registry ${REGISTRY.version} from its Maven artifact`,
  changes: ['USER 1001', 'EXPOSE 8080', 'CMD ["/opt/run"]'],
  async fill(root, context) {
    await addJava(root, context);
    await putFolder(await registryFiles(context, REGISTRY), join(root, 'opt/registry'));
    const run = `#!/bin/bash\nexec /opt/java/bin/java $JAVA_OPTS_APPEND -Dquarkus.http.host=0.0.0.0 -jar /opt/registry/${REGISTRY.jar}\n`;
    await writeFile(join(root, 'opt/run'), run, { mode: 0o755 });
  },
};

async function addJava(root: string, context: StackContext): Promise<void> {
  const java = await usableJava(context.env);
  if (java.version < REGISTRY.minimumJava) {
    const why = `Java ${REGISTRY.minimumJava} or later is needed for the registry's stand-in, and the newest found is ${java.version}`;
    throw new ConnectorError('STACK_UNAVAILABLE', why);
  }
  const home = dirname(dirname(java.program));
  await putFolder(home, join(root, JAVA_HOME), NOT_TO_RUN);
  const libraries = (await readdir(join(home, 'lib'))).filter((name) =>
    /^lib(java|jli|net|nio|zip|management|extnet)\w*\.so$/.test(name),
  );
  await addLibraries(root, [
    java.program,
    join(home, 'lib/server/libjvm.so'),
    ...libraries.map((name) => join(home, 'lib', name)),
  ]);
  await mkdir(join(root, 'home'), { recursive: true });
}

const LABEL = 'structured-products-connect.stand-in';
const IMPORT_LIMIT_MS = 300_000;

/** By the image's name without its tag. */
export const STAND_INS: Readonly<Record<string, StandIn>> = {
  'apache/kafka': kafka,
  'apicurio/apicurio-registry': registry,
  node,
  'prom/prometheus': prometheus,
  'grafana/grafana': grafana,
  'ghcr.io/kafbat/kafka-ui': kafkaUi,
};

/** A folder with a Dockerfile, or one that stands in the compose file itself. */
type Build = string | { readonly dockerfile_inline: string };

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly image: string; readonly build?: Build }>>;
}

/** Every image that must be had from elsewhere: those that services run, and those that ours is built from. */
export function imagesNeeded(composeText: string, dockerfileText: string): readonly string[] {
  const { services } = parse(composeText, { merge: true }) as ComposeFile;
  const all = Object.values(services);
  const own = new Set(all.flatMap(({ image, build }) => (build === undefined ? [] : [image])));
  const run = all.map(({ image }) => image).filter((image) => !own.has(image));
  const inline = all.flatMap(({ build }) => (typeof build === 'object' ? [build.dockerfile_inline] : []));
  const bases = [dockerfileText, ...inline].flatMap(parseDockerfile).filter(({ name }) => name === 'FROM');
  return [...new Set([...run, ...bases.map(({ text }) => text.split(' ')[0] ?? '')])];
}

export function standInFor(image: string): StandIn | undefined {
  return STAND_INS[image.slice(0, image.lastIndexOf(':'))];
}

/** Which images the daemon has now, and how it came to each. */
export interface ImagesAtHand {
  readonly real: readonly string[];
  readonly standIns: readonly string[];
  remove(): Promise<void>;
}

/**
 * Makes sure that the daemon has every image: the real one where it is there or can be pulled, else a stand-in under its
 * very name.
 *
 * @throws ConnectorError STACK_UNAVAILABLE with what a stand-in lacks here
 */
export async function ensureImages(
  engine: DockerEngine,
  images: readonly string[],
  context: StackContext,
): Promise<ImagesAtHand> {
  const missing = (await Promise.all(images.map((image) => pulled(image, context)))).flat();
  const kept = (
    await engine.docker(['image', 'ls', '--filter', `label=${LABEL}`, '--format', '{{.Repository}}:{{.Tag}}'])
  )
    .split('\n')
    .filter((image) => images.includes(image));
  for (const image of missing) await build(engine, image, context);
  const standIns = [...missing, ...kept];
  return {
    real: images.filter((image) => !standIns.includes(image)),
    standIns,
    async remove() {
      if (standIns.length > 0) await engine.docker(['image', 'rm', '--force', ...standIns]);
    },
  };
}

/** The image itself when it can be had no other way than by a stand-in. */
async function pulled(image: string, context: StackContext): Promise<string[]> {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  try {
    await ensureImage(dockerode, image, { ...context, onProgress: () => undefined });
    return [];
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    context.onProgress(error.message);
    return [image];
  }
}

async function build({ docker }: DockerEngine, image: string, context: StackContext): Promise<void> {
  const standIn = standInFor(image);
  if (standIn === undefined) throw new ConnectorError('STACK_UNAVAILABLE', `there is no stand-in for ${image}`);
  context.signal.throwIfAborted();
  const startedMs = context.clock.monotonicMs();
  const folder = await mkdtemp(join(tmpdir(), 'stand-in-'));
  try {
    const [root, tar] = [join(folder, 'root'), join(folder, 'root.tar')];
    await createMachineRoot(root);
    await standIn.fill(root, context);
    await writeFile(join(root, 'etc/stand-in'), `${image}: ${standIn.what}\n`);
    // What comes from this clone has its rights, and the container's user is another.
    await run('chmod', ['-R', 'a+rX', root]);
    await run('tar', ['-C', root, '--numeric-owner', '--owner=0', '--group=0', '-cf', tar, '.'], {
      limitMs: IMPORT_LIMIT_MS,
    });
    const changes = [...standIn.changes, `LABEL ${LABEL}=true`].flatMap((change) => ['--change', change]);
    await docker(['import', ...changes, tar, image], IMPORT_LIMIT_MS);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const seconds = ((context.clock.monotonicMs() - startedMs) / 1000).toFixed(1);
  context.onProgress(`STAND-IN for ${image}, made in ${seconds} s: ${standIn.what}.`);
}
