import { copyFile, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConnectorError } from '../../../src/errors.ts';
import { addLibraries, putFolder, putProgram } from '../machine-root.ts';
import { findProgram, run } from '../run.ts';
import type { StandIn } from './stand-in.ts';

const NPM = 'usr/local/lib/node_modules/npm';
const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';

/** This very Node.js, with the npm of this machine and the registry and authorities that it is set up for. */
export const node: StandIn = {
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

/** The Node.js that runs this, with its libraries. */
export async function addNode(root: string): Promise<void> {
  await putProgram(process.execPath, join(root, 'usr/local/bin/node'));
  await addLibraries(root, [process.execPath]);
}

async function findNpm(): Promise<string> {
  const command = process.env.npm_execpath ?? (await findProgram('npm'));
  if (command === undefined) throw new ConnectorError('STACK_UNAVAILABLE', 'there is no npm on the path');
  return dirname(dirname(await realpath(command)));
}
