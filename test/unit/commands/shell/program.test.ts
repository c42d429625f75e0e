import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { documentedCommands } from '../../../support/documents/readme-commands.ts';
import { portOf } from '../../../support/network/loopback-port.ts';
import { runWith } from './terminal.ts';

const documented = await documentedCommands();
// The commands, and the groups that they stand in.
const paths = new Set(
  documented.flatMap(({ path }) => path.split(' ').map((_, at, words) => words.slice(0, at + 1).join(' '))),
);
const helpful = [['--help'], ['help', 'run'], ...[...paths].map((path) => [...path.split(' '), '--help'])];
for (const args of helpful) {
  test(`${args.join(' ')} goes to stdout with exit code 0`, async () => {
    const { code, stdout, stderr } = await runWith(args);
    assert.equal(code, 0);
    assert.match(stdout, /^Usage: spconnect/);
    assert.equal(stderr, '');
  });
}

const groups = new Set(documented.flatMap(({ path }) => (path.includes(' ') ? [path.split(' ')[0] ?? ''] : [])));
for (const group of ['', ...groups]) {
  test(`the help of ${group || 'the program'} has an example of a command in it`, async () => {
    const { stdout } = await runWith([...(group ? [group] : []), '--help']);
    const examples = [...stdout.matchAll(/^ {2}spconnect ([a-z-]+(?: [a-z-]+)?)/gm)].map((match) => match[1] ?? '');
    assert.ok(examples.length > 0);
    for (const example of examples) {
      const known = documented.some(({ path }) => path.startsWith(group) && `${example} `.startsWith(`${path} `));
      assert.ok(known, example);
    }
  });
}

test('--version is the one of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'));
  assert.deepEqual(await runWith(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
});

const wrong: Record<string, { args: string[]; says: RegExp }> = {
  'no command': { args: [], says: /^Usage: spconnect/ },
  'an unknown command': {
    args: ['rn'],
    says: /unknown command 'rn'\n\(Did you mean run\?\)\nUsage: spconnect \[options\] \[command\]\nCommands: run, .*simulate\nMore: spconnect --help/,
  },
  'an unknown option': { args: ['run', '--confg', 'x'], says: /unknown option '--confg'\n\(Did you mean --config\?\)/ },
  'an option without its value': { args: ['run', '--config'], says: /'--config <file>' argument missing/ },
  'one argument too many': { args: ['run', 'twice'], says: /too many arguments for 'run'/ },
  'a count that is none': {
    args: ['demo', '--instruments', '1e3'],
    says: /'1e3' is invalid. Expected a whole number/,
  },
  'a count below zero': { args: ['demo', '--instruments', '-5'], says: /'-5' is invalid/ },
  'a limit of nothing': { args: ['tail', 'prices', '--limit', '0'], says: /Expected a whole number above 0/ },
  'a port beyond the last': { args: ['simulate', '--port', '65536'], says: /Expected a port from 0 to 65535/ },
  'a rate that is no number': { args: ['simulate', '--changes', 'fast'], says: /Expected a number from 0 to 10000/ },
  'a rate without end': { args: ['simulate', '--changes', 'Infinity'], says: /Expected a number from 0 to 10000/ },
  'a path in place of the id of a check': { args: ['lookup', 'check', '..'], says: /Expected the id of a pre-trade/ },
  'a path in place of an isin': { args: ['lookup', 'price', '..'], says: /Expected the isin of a product/ },
  'no file in place of one': {
    args: ['backfill', 'daily', '--from', '2026-01-01', '--to', '2026-01-02', '--isin-file', ''],
    says: /--isin-file: ENOENT/,
  },
  'a place of no text': { args: ['preview', 'instruments', '--from', ''], says: /Expected some text/ },
  'a wait that no timer takes': { args: ['audit', '--settle', '30d'], says: /Expected a duration of at most 1d/ },
  'a walk of nothing': { args: ['walk'], says: /missing required argument 'source'/ },
  'an allowance that is no count': {
    args: ['walk', 'instruments', '--allow-shrink', 'all'],
    says: /'all' is invalid. Expected a whole number/,
  },
  'an allowance of nothing': {
    args: ['walk', 'instruments', '--allow-shrink', '0'],
    says: /'0' is invalid. Expected a whole number above 0/,
  },
  'offsets without what to do': { args: ['offsets'], says: /^Usage: spconnect offsets/ },
  'a reset of nothing': { args: ['offsets', 'reset', '--execute'], says: /missing required argument 'source'/ },
  'an unknown form of output': {
    args: ['offsets', 'list', '--output', 'yaml'],
    says: /'yaml' is invalid. Allowed choices are text, json/,
  },
  'a day that no month has': {
    args: ['backfill', 'daily', '--from', '2026-02-01', '--to', '2026-02-31'],
    says: /found --to 2026-02-31; expected a day like 2026-03-31/,
  },
  'a backfill without days': { args: ['backfill', 'daily'], says: /found no --from and no --to; expected a day/ },
  'two wrong days': {
    args: ['backfill', 'daily', '--from', 'x', '--to', 'y'],
    says: /^error: found --from x and --to y; expected a day/,
  },
  'a range that ends before it begins': {
    args: ['backfill', 'daily', '--from', '2026-02-02', '--to', '2026-02-01'],
    says: /^error: found a --from that is not before --to; expected an earlier --from\.\nUsage: spconnect backfill/,
  },
  'an instant of such a day': {
    args: ['backfill', 'intraday', '--from', '2026-02-30T06:00:00Z', '--to', '2026-03-02T06:00Z'],
    says: /found --from 2026-02-30T06:00:00Z; expected an instant/,
  },
  'a settings file that is not there': {
    args: ['run', '--config', '/nowhere/connector.yaml'],
    says: /^SETTINGS_INVALID: The settings file \/nowhere\/connector.yaml cannot be read \(ENOENT\)\.\nNothing was started/,
  },
};
for (const [what, { args, says }] of Object.entries(wrong)) {
  test(`${what} is refused on stderr with a hint and exit code 2`, async () => {
    const { code, stdout, stderr } = await runWith(args);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, says);
  });
}

test('simulate prints its addresses for a shell or as JSON, and ends with exit code 0 when asked to', async () => {
  const args = ['simulate', '--port', '0', '--instruments', '1'];
  const text = await runWith(args, { signal: AbortSignal.abort() });
  assert.equal(text.code, 0);
  assert.match(text.stderr, /listens at http:\/\/127\.0\.0\.1:\d+; Ctrl-C ends it/);
  assert.match(
    text.stdout,
    /^export REFERENCE_DATA_URL=http:\S+\nexport MARKET_DATA_URL=http:\S+\nexport AUTH_TOKEN_URL=/,
  );
  for (const line of `${text.stdout}${text.stderr}`.split('\n')) assert.ok(line.length <= 80, line);
  const json = await runWith([...args, '--output', 'json'], { signal: AbortSignal.abort() });
  assert.match(JSON.parse(json.stdout).referenceDataUrl, /^http:\/\/127\.0\.0\.1:\d+\//);
});

test('simulate on a port that is taken says so, and how to take another', async (t) => {
  const port = String(await portOf(t, createServer()));
  const { code, stderr } = await runWith(['simulate', '--port', port, '--instruments', '1']);
  assert.equal(code, 2);
  assert.match(stderr, new RegExp(`port ${port} of .* is in use.*--port`));
});
