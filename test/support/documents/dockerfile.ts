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

/** An image whose file system is a plain folder, `root`. */
export interface FolderImage {
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
  /** The entry point and its default arguments. */
  command: string[];
  healthCheck: string[];
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
  let image: FolderImage = { root: '', workdir: '/', env: {}, user: '0:0', command: [], healthCheck: [] };
  const does: Readonly<Record<string, (text: string) => unknown>> = {
    FROM(text) {
      const root = join(folder, / AS (\w+)$/.exec(text)?.[1] ?? 'final');
      image = { ...image, root, workdir: '/' };
      return makeFolder(root);
    },
    WORKDIR(text) {
      image.workdir = text;
      return makeFolder(join(image.root, text));
    },
    ENV: (text) => Object.assign(image.env, Object.fromEntries(text.split(' ').map((pair) => pair.split('=')))),
    USER: (text) => Object.assign(image, { user: text }),
    RUN: (text) =>
      promisify(execFile)('sh', ['-c', `umask 022; ${text}`], {
        cwd: join(image.root, image.workdir),
        env,
        timeout: RUN_LIMIT_MS,
      }),
    COPY(text) {
      const [, stage, paths = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(text) ?? [];
      const from = stage === undefined ? context : join(folder, stage);
      return copy(from, paths.split(' '), join(image.root, image.workdir));
    },
    ENTRYPOINT: (text) => image.command.push(...(JSON.parse(text) as string[])),
    CMD: (text) => image.command.push(...(JSON.parse(text) as string[])),
    HEALTHCHECK: (text) => Object.assign(image, { healthCheck: JSON.parse(text.replace(/^.* CMD /, '')) }),
    ARG() {},
    LABEL() {},
    EXPOSE() {},
    STOPSIGNAL() {},
  };
  for (const { name, text } of instructions) {
    const doIt = does[name];
    if (doIt === undefined) throw new Error(`${name} is not understood.`);
    await doIt(text);
  }
  return image;
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
