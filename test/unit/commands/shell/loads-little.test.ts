import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../../../..');
const MARK = 'loaded: ';
const REPORT = `
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) { process._rawDebug('${MARK}' + url); return next(url, context); } });
`;
/** The arguments of all commands; a connector that runs has some 400 files. */
const MOST_FILES = 30;

const commands: Readonly<Record<string, readonly string[]>> = {
  'the version': ['--version'],
  'the help': ['--help'],
  'the help of a command': ['run', '--help'],
  'an unknown command': ['rn'],
  'an unknown option': ['run', '--confg', 'x'],
  'a missing argument': ['offsets', 'reset'],
};
for (const [what, args] of Object.entries(commands)) {
  test(`${what} needs no library but the one that reads arguments`, () => {
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(REPORT)}`];
    const { stderr } = spawnSync(process.execPath, [...preload, 'src/main.ts', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    const loaded = stderr.split('\n').flatMap((line) => line.split(`${MARK}file://${root}/`).slice(1));
    const libraries = loaded.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
    assert.deepEqual([...new Set(libraries)], ['commander']);
    const commandFiles = loaded.filter((file) => file.endsWith('-command.ts'));
    assert.deepEqual(commandFiles, []);
    assert.ok(loaded.includes('src/commands/shell/program.ts') && loaded.length <= MOST_FILES, loaded.join('\n'));
  });
}
