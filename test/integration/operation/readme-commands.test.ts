import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { connectorEnvironment } from '../../support/connectors/connector-process.ts';
import { installation } from '../../support/connectors/installation.ts';
import { documentedCommands } from '../../support/documents/readme-commands.ts';
import { COMMANDS_README_FILE, CONFIG_README_FILE, README_FILE } from '../../support/documents/readme-tables.ts';
import { type Ran, runWith } from '../../unit/commands/shell/terminal.ts';

/** They go on until they are stopped; the tests of each start and stop them. */
const ENDLESS = /^(spconnect (run|simulate|status --watch|demo(?!.* --once))|npm run (demo(?!.* --once)|simulate))/;
/** The campaigns: this test is part of the first, and the others take minutes. */
const CAMPAIGN = /^npm (test|run bench|run test:(all|compose))\b/;
/** Stands for what only the reader knows. */
const PLACEHOLDER = /[<>…[\]]/;
const COMMAND = /^((npx )?spconnect [a-z].*|npm run [a-z].*)$/;

/** In the order in which a reader meets them, which is the order in which their commands run. */
const DOCUMENTS = [README_FILE, COMMANDS_README_FILE, CONFIG_README_FILE];
const EXAMPLES = (await documentedCommands()).flatMap(({ examples }) => examples);

/** Every command of a text that ends by itself, once, in the order in which they stand there. */
function commandsOf(text: string): string[] {
  const inBlocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.split('\n'));
  const blocks = runnable(inBlocks);
  const inText = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  // What only begins a command of the blocks is the name of a group, or lacks its argument.
  const spoken = runnable(inText).filter((words) => !blocks.some((command) => command.startsWith(words)));
  return [...new Set([...blocks, ...spoken])];
}

function runnable(lines: readonly string[]): string[] {
  return lines
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => COMMAND.test(line) && !PLACEHOLDER.test(line))
    .filter((line) => !ENDLESS.test(line) && !CAMPAIGN.test(line));
}

async function scene(t: TestContext) {
  const how = { edit: [{ pointer: '/issuePrice', value: '"1"' }] };
  const faults = [{ match: 'instruments', count: 0, fault: { kind: 'poison', rows: [7], how } }] as const;
  const at = await installation(t, { simulator: { instruments: 200, faults }, env: { ADMIN_ENABLED: 'true' } });
  if (!at) return undefined;
  const { stack, simulator, prefix } = at;
  const [instrument] = [...simulator.ledger.instruments()];
  const check = simulator.triggerCheck(instrument?.id ?? '');
  const connector = await at.start();
  await connector.event('walkCompleted');
  const { url } = (await connector.event('adminListening')).fields;
  // Something is in the stream, so that it has places to go back to.
  simulator.publish({ kind: 'datachange', id: String(instrument?.id) });
  await connector.event('streamCommitted');
  const named: Readonly<Record<string, string>> = {
    CH0012032048: /"type":"isin","value":"([^"]+)"/.exec(instrument?.text ?? '')?.[1] ?? '',
    'PTC-0123456789': check,
    'http://127.0.0.1:8083': url,
  };
  const { port } = new URL(url);
  const env = connectorEnvironment(stack, simulator, {});
  // What it is depends on what the openings of writers have left on the topic.
  const listing = ['dead-letters', 'list', '--output', 'json'];
  const listed = await runWith(listing, { env: { ...env, TOPIC_PREFIX: prefix } });
  const letter: string = JSON.parse(listed.stdout)[0].id;
  return {
    run(command: string): Promise<Ran> {
      const words = Object.entries(named)
        .reduce((line, [word, real]) => line.replaceAll(word, real), command)
        .split(/ +/)
        .map((word) => (word === '0' ? letter : word));
      const [program = '', ...args] = words;
      const prices =
        words.includes('price') || words.includes('backfill') ? { MARKET_DATA_URL: simulator.marketDataUrl } : {};
      const own = words.includes('demo') ? env : { ...env, ...prices, TOPIC_PREFIX: prefix, ADMIN_PORT: port };
      return program === 'spconnect' ? runWith(args, { env: own }) : asProcess(program, args, own);
    },
  };
}

async function asProcess(program: string, args: readonly string[], env: Record<string, string>): Promise<Ran> {
  const home = { HOME: process.env.HOME ?? '' };
  const ran = promisify(execFile)(program, args, { env: { ...home, ...env }, timeout: 900_000 });
  return ran.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code?: number; stdout: string; stderr: string }) => ({ ...error, code: error.code ?? 1 }),
  );
}

test('every command of the READMEs that ends by itself does so with exit code 0', async (t) => {
  const texts = DOCUMENTS.map((file) => readFileSync(file, 'utf8'));
  const commands = commandsOf([...texts, '```sh', ...EXAMPLES, '```'].join('\n'));
  const isNamed = ['npx spconnect validate --connect', 'spconnect validate'].every((one) => commands.includes(one));
  assert.ok(isNamed, commands.join('\n'));
  const at = await scene(t);
  if (!at) return;
  for (const command of commands) {
    await t.test(command, async () => {
      const { code, stdout, stderr } = await at.run(command);
      assert.equal(code, 0, `${stdout}\n${stderr}`);
    });
  }
});
