import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder, cacheRoot } from '../../../src/dev/local-stack/java-artifacts.ts';

const INSTALLED = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const PACKAGES = ['chromium-headless-shell', 'fonts-dejavu-core'];
const INSTALL_TIMEOUT_MS = 240_000;

const run = promisify(execFile);

/** A browser that can be started: its program, and what its environment needs besides. */
export interface Chromium {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The Chromium that `CHROMIUM` names or that is installed; otherwise, on Debian, its packages and those that they lack,
 * unpacked once into the user's cache (about 100 MB), without changing the system. Null when there is none to be had.
 */
export async function findChromium(): Promise<Chromium | null> {
  const { CHROMIUM, PATH = '' } = process.env;
  if (CHROMIUM) return { program: CHROMIUM, env: {} };
  const places = PATH.split(delimiter).flatMap((folder) => INSTALLED.map((name) => join(folder, name)));
  const program = places.find((place) => existsSync(place));
  if (program !== undefined) return { program, env: {} };
  return unpackedChromium().catch(() => null);
}

async function unpackedChromium(): Promise<Chromium> {
  const folder = join(cacheRoot(process.env), 'chromium');
  await cachedFolder(folder, async (partial) => {
    await unpackPackages(partial);
    return join(partial, 'root');
  });
  const env = {
    LD_LIBRARY_PATH: (await libraryFolders(folder)).join(delimiter),
    FONTCONFIG_FILE: join(folder, 'fonts.conf'),
  };
  return { program: join(folder, 'usr/lib/chromium/chromium-headless-shell'), env };
}

/**
 * Every folder of an unpacked system that holds shared libraries. Some packages keep theirs in a folder of their own
 * below the architecture's, such as `pulseaudio/`, and a program that is not installed finds no library by itself.
 */
export async function libraryFolders(root: string): Promise<string[]> {
  const places = ['lib', 'usr/lib'].map((name) => join(root, name));
  const found = await Promise.all(
    places.map((place) => readdir(place, { recursive: true, withFileTypes: true }).catch(() => [])),
  );
  const libraries = found.flat().filter(({ name }) => /\.so(\.\d+)*$/.test(name));
  return [...new Set(libraries.map(({ parentPath }) => parentPath))].sort();
}

/** With lists and downloads of our own, so that neither rights nor the system's state matter. */
async function unpackPackages(folder: string): Promise<void> {
  const root = join(folder, 'root');
  for (const part of ['lists/partial', 'cache/archives/partial', 'root']) {
    await mkdir(join(folder, part), { recursive: true });
  }
  const options = [
    `Dir::State::Lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    'APT::Sandbox::User=root',
    'APT::Keep-Downloaded-Packages=true',
    'Debug::NoLocking=true',
  ].flatMap((option) => ['-o', option]);
  const limit = { timeout: INSTALL_TIMEOUT_MS };
  await run('apt-get', [...options, 'update'], limit);
  const install = ['install', '--download-only', '--yes', '--no-install-recommends', ...PACKAGES];
  await run('apt-get', [...options, ...install], limit);
  const archives = join(folder, 'cache/archives');
  for (const name of await readdir(archives)) {
    if (name.endsWith('.deb')) await run('dpkg', ['--extract', join(archives, name), root], limit);
  }
  const fonts = '<fontconfig><dir>/usr/share/fonts</dir><dir prefix="relative">usr/share/fonts</dir></fontconfig>';
  await writeFile(
    join(root, 'fonts.conf'),
    `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n${fonts}\n`,
  );
}
