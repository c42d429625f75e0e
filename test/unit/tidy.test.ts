import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

// The layers, from the top; an import goes to a lower layer or stays in its own folder.
const LAYERS = [
  ['main.ts'],
  ['commands'],
  ['dev'],
  ['run'],
  ['admin'],
  ['sources', 'prices'],
  ['worker'],
  ['records', 'kafka'],
  ['provider'],
  ['config', 'observe'],
  ['support'],
  ['errors.ts'],
];

// Each library has one home, so that replacing it is a change in one folder.
const LIBRARY_HOMES: Readonly<Record<string, readonly string[]>> = {
  kafkajs: ['kafka/kafkajs'],
  '@kafkajs/confluent-schema-registry': ['records/avro'],
  avsc: ['records/avro'],
  undici: ['provider/http'],
  oauth4webapi: ['provider/http'],
  zod: ['config', 'dev/simulator'],
  yaml: ['config'],
  pino: ['observe'],
  'prom-client': ['observe'],
  commander: ['commands'],
  fastify: ['admin'],
  testcontainers: ['dev/local-stack'],
};

const FORBIDDEN_NAMES = /^(utils?|helpers?|common|types|managers?|misc|index|v\d+)\.ts$/;

const root = resolve(import.meta.dirname, '../..');
const { test: beside = [], product: sources = [] } = Object.groupBy(typescriptFiles(join(root, 'src')), (file) =>
  file.endsWith('.test.ts') ? 'test' : 'product',
);
const tests = [...beside, ...typescriptFiles(join(root, 'test'))];

function typescriptFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

function importsOf(file: string): string[] {
  const text = withoutComments(readFileSync(file, 'utf8'));
  const found = text.matchAll(
    /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+|\brequire\s*\(\s*|\bresolve\s*\(\s*)['"]([^'"\n]+)['"]/g,
  );
  return [...found].map((match) => match[1] ?? '');
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/[^\n]*/g, '$1');
}

function folderOf(file: string): string {
  return relative(join(root, 'src'), file).split('/')[0] ?? '';
}

function layerOf(folder: string): number {
  return LAYERS.findIndex((layer) => layer.includes(folder));
}

function violations(files: readonly string[], find: (file: string, text: string) => readonly string[]): string[] {
  return files.flatMap((file) =>
    find(file, readFileSync(file, 'utf8')).map((what) => `${relative(root, file)}: ${what}`),
  );
}

test('imports point one way, from main down to errors', () => {
  const wrong = violations(sources, (file) => {
    const from = folderOf(file);
    return importsOf(file)
      .filter((name) => name.startsWith('.'))
      .map((name) => folderOf(resolve(dirname(file), name)))
      .filter((to) => to !== from && !(layerOf(from) >= 0 && layerOf(to) > layerOf(from)))
      .map((to) => `imports ${to}, which is not below ${from}`);
  });
  assert.deepEqual(wrong, []);
});

test('the simulator is the oracle of the tests: it shares no code with the product', () => {
  const simulator = join(root, 'src/dev/simulator');
  const inside = sources.filter((file) => file.startsWith(simulator));
  const wrong = violations(inside, (file) =>
    importedFiles(file)
      .filter((to) => !to.startsWith(simulator))
      .map((to) => `imports ${relative(root, to)}`),
  );
  assert.ok(inside.length > 0);
  assert.deepEqual(wrong, []);
});

test('no file imports itself by way of others, not even for types', () => {
  const imports = new Map(sources.map((file) => [file, importedFiles(file)]));
  const circles: string[] = [];
  const done = new Set<string>();
  const follow = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) circles.push([...path.slice(at), file].map((name) => relative(root, name)).join(' -> '));
    if (at >= 0 || done.has(file)) return;
    for (const next of imports.get(file) ?? []) follow(next, [...path, file]);
    done.add(file);
  };
  for (const file of sources) follow(file, []);
  assert.deepEqual(circles, []);
});

function importedFiles(file: string): string[] {
  return importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => resolve(dirname(file), name));
}

test('each library is imported in its one home', () => {
  const wrong = violations(sources, (file) =>
    importsOf(file)
      .filter((name) => !/^(\.|node:|\$\{)/.test(name))
      .filter((name) => {
        const library = name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/');
        return !LIBRARY_HOMES[library]?.some((home) => relative(join(root, 'src'), file).startsWith(`${home}/`));
      })
      .map((name) => `imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('files are well named, without default exports or barrels', () => {
  const wrong = violations([...sources, ...tests], (file, text) => {
    return [
      ...(FORBIDDEN_NAMES.test(file.split('/').at(-1) ?? '') ? ['has a name that says nothing'] : []),
      ...(/^export default /m.test(text) ? ['has a default export'] : []),
      ...(/^export (\*|\{[^}]*\}) from /m.test(text) ? ['re-exports (a barrel)'] : []),
    ];
  });
  assert.deepEqual(wrong, []);
});

test('what is exported is imported by another source file, or says that tests need it', () => {
  const imported = new Map<string, Set<string>>();
  for (const file of sources) {
    const text = readFileSync(file, 'utf8');
    for (const [, names = '', from = ''] of text.matchAll(/\{([^{}]*)\} from '(\.[^']+)'/g)) {
      addNames(imported, resolve(dirname(file), from), names);
    }
    // A file that loads another one later may use any of its names.
    for (const [, from = ''] of text.matchAll(/\bimport\(\s*'(\.[^']+)'/g)) {
      addNames(imported, resolve(dirname(file), from), text);
    }
  }
  const wrong = violations(sources, (file, text) =>
    [...text.matchAll(/^export (?:async )?(?:function\*?|const|let|class) (\w+)/gm)]
      .filter(([, name = '']) => !imported.get(file)?.has(name))
      .filter(({ index }) => !text.slice(text.lastIndexOf('/**', index), index).includes('Exported for tests.'))
      .map(([, name]) => `exports ${name}, which no source imports`),
  );
  assert.deepEqual(wrong, []);
});

function addNames(imported: Map<string, Set<string>>, file: string, text: string): void {
  const names = imported.get(file) ?? new Set();
  for (const [name] of text.matchAll(/\w+/g)) names.add(name);
  imported.set(file, names);
}

// The steps of src/README.md, and the commands that are about checks alone.
const NAME_CHECKS = [
  'commands/doctor-command.ts',
  'commands/lookup-command.ts',
  'config/groups/sources.ts',
  'config/groups/topics.ts',
  'kafka/topic-plan.ts',
  'provider/pre-trade-checks.ts',
  'records/avro/schema-files.ts',
  'records/decoding/check-decoder.ts',
  'sources/kinds/all.ts',
  'sources/kinds/pre-trade-checks.ts',
];

test('a type of source is named in the files that its steps name, and nowhere else', () => {
  const product = sources.filter((file) => !/\/src\/(dev|records\/avro\/generated)\//.test(file));
  const naming = product.filter((file) => /pre-?trade-?check/i.test(withoutComments(readFileSync(file, 'utf8'))));
  assert.deepEqual(naming.map((file) => relative(join(root, 'src'), file)).sort(), NAME_CHECKS);
});

test('console and process.env stay in main, cli and config', () => {
  const wrong = violations(sources, (file, text) => {
    if (['main.ts', 'commands', 'config'].includes(folderOf(file))) return [];
    return [...withoutComments(text).matchAll(/\b(console\.\w+|process\.env)\b/g)].map((match) => `uses ${match[0]}`);
  });
  assert.deepEqual(wrong, []);
});

test('time and randomness come in as parameters', () => {
  const wrong = violations(sources, (file, text) => {
    if (/clock\.ts$/.test(file) || ['main.ts', 'commands'].includes(folderOf(file))) return [];
    const used = withoutComments(text).matchAll(
      /\b(Date\.now|setTimeout|setInterval|Math\.random|performance\.now)\b/g,
    );
    return [...used].map((match) => `uses ${match[0]}`);
  });
  assert.deepEqual(wrong, []);
});

const LEFT_OVERS =
  /\b(TODO|FIXME|XXX)\b|(?<=['"`\s])\/(home|Users)\/\w+\/|-----BEGIN [A-Z ]*PRIVATE KEY-----\\?\n\w|\b(AKIA|ghp_)\w{16}/g;

test('nothing is left over: no task for later, no path of one machine, no secret', () => {
  const wrong = violations([...sources, ...tests], (file, text) => {
    if (file === import.meta.filename) return [];
    return [...text.matchAll(LEFT_OVERS)].map((match) => `holds ${match[0]}`);
  });
  assert.deepEqual(wrong, []);
});
