import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  KAFKA_VERSION,
  kafkaJars,
  REGISTRY_RELEASES,
  registryFiles,
} from '../../../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../../../src/dev/local-stack/java-runtime.ts';
import type { StackContext } from '../../../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { addLibraries, makeWritable, putFolder } from '../machine-root.ts';
import type { StandIn } from './stand-in.ts';

const [REGISTRY] = REGISTRY_RELEASES;
const JAVA_HOME = 'opt/java';
/** What a JDK has for people and for compilers, and what draws windows. */
const NOT_TO_RUN =
  /^\/(jmods|demo|man|legal|include|sample|docs|lib\/src\.zip|lib\/ct\.sym|lib\/.*(awt_xawt|splashscreen).*)$/;

/** What the image's own start does: its program makes server.properties of the environment and formats the storage. */
const RUN_KAFKA = `#!/bin/bash
export CLUSTER_ID=\${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}
kafka() { /opt/java/bin/java -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper "$@"; }
result=$(kafka setup --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config \\
  --final-configs-dir /opt/kafka/config 2>&1) || [[ $result == *'already formatted'* ]] || { echo "$result"; exit 1; }
exec /opt/java/bin/java \${KAFKA_HEAP_OPTS:--Xmx512m} -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
`;

export const kafka: StandIn = {
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

export const registry: StandIn = {
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
