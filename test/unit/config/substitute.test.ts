// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FileReference } from '../../../src/config/secret.ts';
import { substitute } from '../../../src/config/yaml-tree.ts';

const env = { HOST: 'kafka', EMPTY: '', REFERRING: '${HOST}', PASSWORD_FILE: '/run/password', HOST_FILE: undefined };

test('what was put in is not looked at again, and $${ is kept as ${', () => {
  assert.equal(substitute('${REFERRING}', env).value, '${HOST}');
  assert.equal(substitute('$${HOST}', env).value, '${HOST}');
});

test('a variable that is missing or empty is named, with the message of the file', () => {
  assert.deepEqual(substitute('${MISSING}', env).problems, ['MISSING is not set']);
  assert.deepEqual(substitute('${EMPTY:?the host: of Kafka}', env).problems, ['EMPTY is not set: the host: of Kafka']);
  assert.deepEqual(substitute('${A}${B}', env).problems, ['A is not set', 'B is not set']);
});

test('a reference inside a reference is refused, set or not', () => {
  for (const given of [{}, { A: 'abc' }, { B: 'def' }]) {
    const [problem = '', ...others] = substitute('${A:-${B}}', given).problems;
    assert.match(problem, /^a reference cannot be read; expected .* with no \$\{ inside/);
    assert.deepEqual(others, []);
  }
});

test('the file of a variable stands in for it, when the reference is the whole value', () => {
  const { value, variables, problems } = substitute('${PASSWORD}', env);
  assert.ok(value instanceof FileReference);
  assert.deepEqual([value.path, variables, problems], ['/run/password', ['PASSWORD'], []]);
  assert.deepEqual(substitute('x${PASSWORD}', env).problems, ['PASSWORD is not set']);
});

test('a variable beside its own file is refused, as one of them would be ignored', () => {
  const { problems } = substitute('${PASSWORD}', { ...env, PASSWORD: 'x' });
  assert.deepEqual(problems, ['PASSWORD and PASSWORD_FILE are both set; unset one of them']);
});

test('quotes that an env-file left around a value are named, as nothing would work with them', () => {
  const said = (name: string) => [
    `${name} has quotes around its value, as docker run --env-file leaves them; remove them`,
  ];
  assert.deepEqual(substitute('${A}', { A: '"kafka:9092"' }).problems, said('A'));
  assert.deepEqual(substitute('http://${A:-b}/', { A: "'kafka'" }).problems, said('A'));
  assert.deepEqual(substitute('${A}', { A_FILE: '"/run/a"' }).problems, said('A_FILE'));
  for (const A of ['"', 'it\'s "so"', '"a" or b', '"a\'']) assert.deepEqual(substitute('${A}', { A }).problems, []);
});

test('a million characters take no time', () => {
  const before = process.cpuUsage();
  for (const text of ['${'.repeat(500_000), '$'.repeat(1_000_000), `\${${'A'.repeat(999_990)}:-}`])
    substitute(text, {});
  assert.ok(process.cpuUsage(before).user < 10_000_000);
});
