import assert from 'node:assert/strict';
import { accessSync, constants, existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { README_FILE, README_TABLES, withTables } from '../support/readme-tables.ts';

const root = dirname(fileURLToPath(README_FILE));
const readme = readFileSync(README_FILE, 'utf8');
const { scripts, bin } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as {
  readonly scripts: object;
  readonly bin: Readonly<Record<string, string>>;
};

/** Who reads from the top: what it is, whether to trust it, how to use it, how to run it, how to change it. */
const ORDER = [
  'Two commands',
  'How it works',
  'Guarantees',
  'Known gaps',
  'Topics',
  'Consuming the topics',
  'Settings',
  'Commands',
  'Metrics',
  'Alerts',
  'Error codes',
  'Operations',
  'What the interface does not show, and what we assume',
  'Where it departs from its design',
  'Layout',
  'Adding to it',
];

/** Every text of the README that this finds once. */
function named(pattern: RegExp, text = readme): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ''))];
}

/** In programs, brackets are no links and hashes no headings. */
function withoutPrograms(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '');
}

/** What GitHub makes of the headings of a document. */
function anchorsOf(document: string): string[] {
  const headings = named(/^#{1,6} (.+)$/gm, withoutPrograms(readFileSync(document, 'utf8')));
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('the tables are those of the code', () => {
  assert.equal(readme, withTables(readme), 'run node test/support/readme-tables.ts --write');
});

test('a row that is missing, changed or made up is noticed', () => {
  for (const name of Object.keys(README_TABLES)) {
    const start = readme.indexOf(`<!-- table: ${name} -->`);
    // The last row of a table, or the last line of a block.
    const close = readme.indexOf('\n\n<!-- end -->', start);
    const lastRow = readme.lastIndexOf('\n', readme.startsWith('\n```', close - 4) ? close - 5 : close - 1);
    const end = readme.indexOf('\n', lastRow + 1);
    const [before, row, after] = [readme.slice(0, lastRow), readme.slice(lastRow, end), readme.slice(end)];
    for (const changed of ['', row.replace('a', 'e'), `${row}${row}`]) {
      const other = `${before}${changed}${after}`;
      assert.notEqual(other, withTables(other), `${name}: ${changed}`);
    }
  }
});

test('a table without its place, and a place without its table, are noticed', () => {
  assert.throws(() => withTables(readme.replace('<!-- table: topics -->', '')), /exactly one place for: topics/);
  assert.throws(() => withTables(`${readme}\n<!-- table: none -->\n<!-- end -->`), /"none", which is not known/);
});

test('every file that it names exists', () => {
  // In programs, brackets are no links.
  const linked = named(/\]\((?!https?:|#)([^)#\s]+)/g, readme.replace(/```[a-z]+\n[\s\S]*?```/g, ''));
  const tests = named(/\b(test\/[\w./-]+\.ts)\b/g);
  const run = named(/\bnode ([\w./-]+\.ts)\b/g);
  assert.ok(linked.length > 0);
  assert.deepEqual(
    [...linked, ...tests, ...run].filter((path) => !existsSync(resolve(root, path))),
    [],
  );
});

test('every link and every anchor of the documentation leads somewhere', () => {
  const documents = globSync('**/*.md', { cwd: root, exclude: (name) => /^(node_modules|\.git)$/.test(name) });
  assert.ok(documents.length > 5);
  const wrong = documents.flatMap((document) => {
    const text = withoutPrograms(readFileSync(resolve(root, document), 'utf8'));
    return named(/\]\(([^)\s]+)\)/g, text)
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? resolve(root, document) : resolve(root, dirname(document), path);
        return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
      })
      .map((link) => `${document}: ${link}`);
  });
  assert.deepEqual(wrong, []);
});

test('the layout names every folder of the program and of what a user may edit, and the sections have their order', () => {
  const layout = readme.split('\n## Layout\n')[1]?.split('\n## ')[0] ?? '';
  const folders = ['src', 'config'].flatMap((parent) =>
    readdirSync(resolve(root, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'simulator')
      .map(({ name }) => `${parent}/${name}`),
  );
  for (const folder of [...folders, 'src/simulator', 'schemas', 'test']) {
    assert.match(layout, new RegExp(`\\]\\(${folder}[/)]`), folder);
  }
  for (const edited of ['config', 'config/grafana', 'config/prometheus', 'config/simulator', 'schemas', 'test']) {
    assert.ok(existsSync(resolve(root, edited, 'README.md')), edited);
  }
  assert.deepEqual(
    named(/^## (.+)$/gm, withoutPrograms(readme)).filter((heading) => ORDER.includes(heading)),
    ORDER,
  );
});

test('the kinds of notifications are those that are written', () => {
  const files = ['notification-content.ts', 'follower-notification.ts'];
  const code = files.map((file) => readFileSync(resolve(root, 'src/connector/tasks', file), 'utf8')).join('');
  const written = [...code.matchAll(/^ +kind: .*$/gm)].flatMap(([line]) => named(/'([a-z]+-[a-z-]+)'/g, line));
  const rows = readme.split('| kind | what has happened |')[1]?.split('\n\n')[0] ?? '';
  assert.deepEqual(named(/`([a-z-]+)`/g, rows).sort(), [...new Set(written)].sort());
});

test('npx finds the command that it names, and need not change a file to run it', () => {
  for (const file of Object.values(bin)) accessSync(resolve(root, file), constants.X_OK);
  assert.deepEqual([...new Set(named(/\bnpx ([\w-]+)/g))], Object.keys(bin));
});

test('every npm script that it names exists', () => {
  const names = [...named(/\bnpm run ([\w:-]+)/g), ...named(/\bnpm (start|test)\b/g)];
  assert.ok(names.includes('demo') && names.includes('test'));
  assert.deepEqual(
    names.filter((name) => !(name in scripts)),
    [],
  );
});
