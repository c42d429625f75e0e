import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const RUN_LIMIT_MS = 600_000;

/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** An image whose file system is a plain folder. */
export interface FolderImage {
  /** What will be /. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  /** The entry point and its default arguments. */
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

export function parseDockerfile(text: string): readonly Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n');
  return lines.map((line) => {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    return { name, text: rest };
  });
}

/**
 * Does what a Dockerfile says in plain folders, one for each stage, with this machine's programs in the place of the
 * base image's. Only what our Dockerfile uses is understood; anything else throws.
 *
 * @param context the folder that COPY takes from
 * @param folder an empty folder for the stages
 */
export async function buildInFolders(
  instructions: readonly Instruction[],
  context: string,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<FolderImage> {
  const roots = new Map<string, string>();
  let image: FolderImage | undefined;
  for (const { name, text } of instructions) {
    if (name === 'FROM') {
      const stage = / AS (\w+)$/.exec(text)?.[1] ?? 'final';
      const root = join(folder, stage);
      roots.set(stage, root);
      await makeFolder(root);
      image = { root, workdir: '/', env: {}, user: '0:0', command: [], healthCheck: [] };
    } else if (image === undefined) throw new Error(`${name} stands before FROM.`);
    else image = await follow({ name, text }, image, { context, roots, env });
  }
  if (image === undefined) throw new Error('The Dockerfile has no stage.');
  return image;
}

async function follow(
  { name, text }: Instruction,
  image: FolderImage,
  build: {
    readonly context: string;
    readonly roots: ReadonlyMap<string, string>;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<FolderImage> {
  const here = join(image.root, image.workdir);
  switch (name) {
    case 'WORKDIR':
      await makeFolder(join(image.root, text));
      return { ...image, workdir: text };
    case 'ENV':
      return { ...image, env: { ...image.env, ...Object.fromEntries(text.split(' ').map((pair) => pair.split('='))) } };
    case 'USER':
      return { ...image, user: text };
    case 'RUN':
      await promisify(execFile)('sh', ['-c', `umask 022; ${text}`], {
        cwd: here,
        env: build.env,
        timeout: RUN_LIMIT_MS,
      });
      return image;
    case 'COPY': {
      const [, stage, paths = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(text) ?? [];
      const from = stage === undefined ? build.context : build.roots.get(stage);
      if (from === undefined) throw new Error(`There is no stage ${stage}.`);
      await copy(from, paths.split(' '), here);
      return image;
    }
    case 'ENTRYPOINT':
    case 'CMD':
      return { ...image, command: [...image.command, ...(JSON.parse(text) as string[])] };
    case 'HEALTHCHECK':
      return { ...image, healthCheck: JSON.parse(text.replace(/^.* CMD /, '')) as string[] };
    case 'ARG':
    case 'LABEL':
    case 'EXPOSE':
    case 'STOPSIGNAL':
      return image;
    default:
      throw new Error(`${name} is not understood.`);
  }
}

/** As the engine makes it, whatever the umask here. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}

/** A file goes into a destination with a slash at its end, or becomes it; of a folder, the content is copied. */
async function copy(from: string, paths: readonly string[], into: string): Promise<void> {
  const destination = paths.at(-1) ?? '.';
  for (const path of paths.slice(0, -1)) {
    const isFolder = (await stat(join(from, path))).isDirectory();
    const isInto = /\/$/.test(destination) && !isFolder;
    await cp(join(from, path), join(into, destination, isInto ? basename(path) : ''), { recursive: true });
  }
}
