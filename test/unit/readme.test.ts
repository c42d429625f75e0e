import assert from 'node:assert/strict';
import { accessSync, constants, existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { README_FILE, TABLED_DOCUMENTS, TOPICS_README_FILE, withTables } from '../support/documents/readme-tables.ts';

const root = dirname(fileURLToPath(README_FILE));
const readme = readFileSync(README_FILE, 'utf8');
/** What a project of this size may ask a reader to read first. */
const MAXIMUM_WORDS = 2_000;
const documents = globSync('**/*.md', { cwd: root, exclude: (name) => /^(node_modules|\.git|dist)$/.test(name) });
const { scripts, bin } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as {
  readonly scripts: object;
  readonly bin: Readonly<Record<string, string>>;
};

/** A reader starts at the top: what it is, how to run it, its words, whether to trust it; developers read on. */
const ORDER = [
  'Two commands',
  'Against your provider',
  'Kubernetes',
  'Glossary',
  'Guarantees',
  'Known limits',
  'Figures',
  'How it works',
  'Why not Kafka Connect, Redpanda Connect or a script?',
  'Which file?',
  'More',
];

/** Everything that the pattern finds, once. */
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
  return headings.map(anchorOf);
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Longer than a few screens: a reader looks for a section, and does not scroll. */
const LINES_WITH_CONTENTS = 150;

test('each long document begins with its contents, every section among them', () => {
  for (const document of documents.filter((name) => /(^|\/)README\.md$/.test(name))) {
    const text = withoutPrograms(textOf(document));
    const sections = named(/^## (.+)$/gm, text);
    if (textOf(document).split('\n').length < LINES_WITH_CONTENTS || sections.length < 3) continue;
    const contents = text.slice(0, text.search(/^## /m));
    const linked = new Set(named(/\]\(#([^)]+)\)/g, contents));
    const missing = sections.filter((section) => !linked.has(anchorOf(section)));
    assert.deepEqual(missing, [], `the contents of ${document}`);
  }
});

function textOf(document: string): string {
  return readFileSync(resolve(root, document), 'utf8');
}

for (const { file, tables } of TABLED_DOCUMENTS) {
  const document = relative(root, fileURLToPath(file));
  const text = readFileSync(file, 'utf8');

  test(`the tables of ${document} are those of the code`, () => {
    assert.equal(text, withTables(tables, text), 'run node test/support/documents/readme-tables.ts --write');
  });
}

function commentsOf(file: string): string {
  return named(/^(\s*(?:\/?\*|\/\/).*)$/gm, textOf(file)).join('\n');
}

test('the README is short, and its sections have their order', () => {
  const words = readme.split(/\s+/).length;
  assert.ok(words < MAXIMUM_WORDS, `${words} words`);
  assert.deepEqual(named(/^## (.+)$/gm, withoutPrograms(readme)), ORDER);
});

test('the README counts the faults as the campaign does, and names its findings', () => {
  const [, counts = '', result = ''] = /^\| (1,000 kills, .*?) \| (.*) \|$/m.exec(readme) ?? [];
  const [, compared = ''] = /without\na finding: ([\s\S]*?)\n\n/.exec(textOf('test/campaign/README.md')) ?? [];
  for (const count of counts.split(', ')) assert.ok(compared.replaceAll('\n', ' ').includes(count), count);
  assert.match(result, /^nothing lost, nothing twice; .*\(test\/campaign\/README\.md#findings\)/);
});

test('the hazards of raw kafkajs are those of the tests, and the README counts them and the patches', () => {
  const files = globSync('test/integration/hazards/kafkajs-hazards-*.test.ts', { cwd: root });
  const shown = new Set(files.flatMap((file) => named(/\b(H\d+): /g, textOf(file))));
  assert.deepEqual(named(/^\| (H\d+) \|/gm, textOf('test/README.md')).toSorted(), [...shown].toSorted());
  const patches = named(/(?:module: |namingTopicsOf\(\s*)'([\w/.]+)'/g, textOf('src/kafka/kafkajs/kafkajs-patches.ts'));
  assert.match(readme, new RegExp(`\\[${shown.size} ways\\][\\s\\S]*\\b${patches.length} \\[patches\\]`));
});

test('every program, test, npm script and command that the documentation names exists', () => {
  const text = documents
    .filter((document) => document !== 'CHANGELOG.md')
    .map(textOf)
    .join('\n');
  const paths = [...named(/\b(test\/[\w./-]+\.ts)\b/g, text), ...named(/\bnode ([\w./-]+\.ts)\b/g, text)];
  const names = [...named(/\bnpm run ([\w:-]+)/g, text), ...named(/\bnpm (start|test)\b/g, text)];
  assert.ok(paths.length > 5 && names.length > 5);
  const missing = [
    ...paths.filter((path) => !existsSync(resolve(root, path))),
    ...names.filter((name) => !(name in scripts)),
  ];
  assert.deepEqual(missing, []);
  assert.deepEqual([...new Set(named(/\bnpx ([\w-]+)/g))].toSorted(), ['node', ...Object.keys(bin)]);
  // npx need not change a file to run it.
  for (const file of Object.values(bin)) accessSync(resolve(root, file), constants.X_OK);
});

test('every link and every anchor of the documentation leads somewhere', () => {
  assert.ok(documents.length > 12);
  const wrong = documents.flatMap((document) =>
    named(/\]\(([^)\s]+)\)/g, withoutPrograms(textOf(document)))
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? resolve(root, document) : resolve(root, dirname(document), path);
        return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
      })
      .map((link) => `${document}: ${link}`),
  );
  assert.deepEqual(wrong, []);
});

test('each question is answered by a file that is there and holds the name', () => {
  const rows = readme.split('\n## Which file?\n')[1]?.split('\n## ')[0]?.split('\n').slice(3) ?? [];
  const answers = rows.filter((row) => row.startsWith('| '));
  assert.equal(answers.length, 9);
  for (const row of answers) {
    const [, , files = '', names = ''] = row.split('|');
    const text = named(/\]\(([^)#]+)\)/g, files)
      .map(textOf)
      .join('\n');
    const constants = named(/`([^`]+)`/g, names);
    assert.ok(constants.length > 0, row);
    for (const name of constants) assert.match(text, new RegExp(`\\b${name}\\b`), `${name}: ${files}`);
  }
});

test('the layout names every folder of the program and no other', () => {
  const layout = textOf('src/README.md').split('\n## Layout\n')[1]?.split('\n## ')[0] ?? '';
  const files = globSync('*/**/*.ts', { cwd: resolve(root, 'src') });
  const folders = new Set(files.map((file) => dirname(file).replace(/^(dev\/simulator)\/.*/, '$1')).concat('bin'));
  assert.deepEqual([...new Set(named(/\]\(([a-z/-]+)\)/g, layout))].sort(), [...folders].sort());
});

test('every part of the interface that a comment cites is there, and is cited with its document', () => {
  const numbers = named(/^#{2,3} (\d+(?:\.\d)?)\.? /gm, textOf('src/provider/README.md'));
  const files = globSync('{src,test}/**/*.ts', { cwd: root });
  const cited =
    /\bparts? (\d+(?:\.\d+)?)(?: and (\d+(?:\.\d+)?))?([\s*/]+of[\s*/]+src\/provider\/README\.md(?![\w.]*\d))?/gi;
  const wrong = files.flatMap((file) =>
    [...commentsOf(file).matchAll(cited)]
      .filter(([, first = '', second = first, document]) =>
        [first, second].some((number) => document === undefined || !numbers.includes(number)),
      )
      .map(([text]) => `${file}: ${text}`),
  );
  assert.deepEqual(wrong, []);
});

test('the kinds of notifications are those that are written', () => {
  const files = [
    'sources/tasks/notification-texts.ts',
    'run/source-partitions.ts',
    'prices/window-progress.ts',
    'commands/offsets-command.ts',
  ];
  const code = files.map((file) => readFileSync(resolve(root, 'src', file), 'utf8')).join('');
  const written = [...code.matchAll(/\bkind: [^,;]*/g)].flatMap(([line]) => named(/'([a-z]+-[a-z-]+)'/g, line));
  const rows =
    readFileSync(TOPICS_README_FILE, 'utf8').split('| kind | what has happened |')[1]?.split('\n\n')[0] ?? '';
  assert.deepEqual(named(/`([a-z-]+)`/g, rows).sort(), [...new Set(written)].sort());
});

/** The source files that a paragraph of src/README.md links to, in its order, with their text. */
function pathOf(beginning: string): (readonly [file: string, text: string])[] {
  const paragraph =
    textOf('src/README.md')
      .split('\n\n')
      .find((one) => one.startsWith(beginning)) ?? '';
  return named(/\]\(([\w/.-]+\.ts)\)/g, paragraph).map((file) => [file, textOf(`src/${file}`)] as const);
}

test('from main to the first poll it takes at most seven files, each of which calls the next', () => {
  const path = pathOf('From the start to the first poll');
  assert.equal(path[0]?.[0], 'main.ts');
  assert.match(path.at(-1)?.[1] ?? '', /\btask\.poll\(/);
  assert.ok(path.length <= 7, `${path.length} files`);
  for (const [at, [next, nextText]] of path.slice(1).entries()) {
    const [file, text] = path[at] ?? assert.fail();
    assert.ok(text.includes(`/${next.split('/').at(-1)}'`), `${file} does not import ${next}`);
    const exported = named(/^export (?:async )?function (\w+)/gm, nextText);
    // The commands are called by way of their list.
    const isCalled = exported.some((name) => new RegExp(`\\b${name}[(,]`).test(text));
    assert.ok(isCalled, `${file} does not call ${next}`);
  }
});

for (const start of ["**From a page's bytes to records.**", '**An offset.**', '**A price.**']) {
  test(`${start} Each file on the way is connected with another one`, () => {
    const path = pathOf(start);
    assert.ok(path.length > 4);
    const names = (text: string, file: string) => text.includes(`/${file.split('/').at(-1)}'`);
    for (const [file, text] of path) {
      // The writer is known by its contract only.
      if (file.startsWith('kafka/')) continue;
      const isConnected = path.some(
        ([other, otherText]) => other !== file && (names(text, other) || names(otherText, file)),
      );
      assert.ok(isConnected, `${file} imports none of the others, nor the other way round`);
    }
  });
}
