import { readFileSync } from 'node:fs';

const PACKAGE_FILE = new URL('../../package.json', import.meta.url);

export function projectVersion(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { readonly version: string };
  return version;
}
