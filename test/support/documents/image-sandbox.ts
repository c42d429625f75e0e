import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FolderImage } from './dockerfile.ts';

const NODE_FOLDER = '/opt/node/bin';

// A mount namespace of its own, in which the image's folder is / and nothing can be written; what it lacks of a base
// image comes from this machine, read-only too. Each program takes the place of the one before, so that a signal
// reaches the last. The mounts go with the process.
const ENTER = `
root=$1; workdir=$2; user=$3; group=$4; shift 4
mount --bind "$root" "$root"
for name in usr lib lib64 bin etc dev proc; do
  if [ -L "/$name" ]; then [ -L "$root/$name" ] || ln -s "$(readlink "/$name")" "$root/$name"
  elif [ -d "/$name" ]; then
    mkdir -p "$root/$name"
    mount --rbind "/$name" "$root/$name"
    [ "$name" = proc ] || [ "$name" = dev ] || mount -o remount,bind,ro "$root/$name"
  fi
done
mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/env -C "$workdir" /usr/bin/setpriv --reuid="$user" --regid="$group" --clear-groups \\
  --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`;

/** How much of a container this machine can imitate. */
export type Confinement = 'as a container' | 'as a plain process';

/** Runs programs of an image that is a folder. */
export interface ImageSandbox {
  readonly confinement: Confinement;
  /** Starts a command of the image; its outputs are pipes. The first word is looked up in the image's path. */
  start(command: readonly string[], env: Readonly<Record<string, string>>): ChildProcess;
}

/** As a container runs it where we are root and may mount; elsewhere merely from its folder. */
export async function createImageSandbox(image: FolderImage): Promise<ImageSandbox> {
  const nodeFolder = join(image.root, NODE_FOLDER);
  await mkdir(nodeFolder, { recursive: true });
  await copyFile(process.execPath, join(nodeFolder, 'node'));
  // These are ours. What the image brings has the rights that it would have in a container.
  execFileSync('chmod', ['-R', 'a+rX', join(image.root, 'opt')]);
  const confinement = mayEnter(image) ? 'as a container' : 'as a plain process';
  return {
    confinement,
    start(command, given) {
      const stdio = ['ignore', 'pipe', 'pipe'] as const;
      const env = { ...image.env, ...given };
      if (confinement === 'as a container') {
        return spawn('unshare', enter(image, command), {
          stdio: [...stdio],
          env: { ...env, PATH: `${NODE_FOLDER}:/usr/sbin:/usr/bin:/sbin:/bin` },
        });
      }
      const [program = '', ...args] = command;
      return spawn(program, args, {
        stdio: [...stdio],
        cwd: join(image.root, image.workdir),
        env: { ...env, PATH: `${nodeFolder}:${process.env.PATH}` },
      });
    },
  };
}

function enter({ root, workdir, user }: FolderImage, command: readonly string[]): string[] {
  const [userId = '', groupId = ''] = user.split(':');
  return ['--mount', '--propagation', 'private', 'sh', '-euc', ENTER, 'sh', root, workdir, userId, groupId, ...command];
}

function mayEnter(image: FolderImage): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    const env = { PATH: `${NODE_FOLDER}:/usr/sbin:/usr/bin:/sbin:/bin` };
    execFileSync('unshare', enter(image, ['node', '--version']), { env, stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}
