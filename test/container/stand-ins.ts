import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { parse } from 'yaml';
import { ensureImage } from '../../src/dev/local-stack/docker-stack.ts';
import type { StackContext } from '../../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../../src/errors.ts';
import { parseDockerfile } from '../support/documents/dockerfile.ts';
import type { DockerEngine } from './docker-engine.ts';
import { createMachineRoot } from './machine-root.ts';
import { run } from './run.ts';
import { kafka, registry } from './stand-ins/java.ts';
import { node } from './stand-ins/node.ts';
import { prometheus } from './stand-ins/prometheus.ts';
import { grafana, kafkaUi } from './stand-ins/small-servers.ts';
import type { StandIn } from './stand-ins/stand-in.ts';

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
  /** Removes the stand-ins. */
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
