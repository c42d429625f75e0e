import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type { Installation } from '../../operator/installation.ts';
import type * as operation from '../../operator/state-operation.ts';
import { PRICE_PROCESSOR } from '../../worker/target.ts';
import type { Terminal } from '../terminal.ts';
import { knownSource } from './known-source.ts';

interface StateCommand {
  readonly name: string;
  readonly description: string;
  readonly help: string;
  readonly ask: (how: typeof operation, installation: Installation, source: string) => Promise<void>;
}

const COMMANDS: readonly StateCommand[] = [
  {
    name: 'pause',
    description: 'Let a source stand still: it keeps its place and asks the provider for nothing.',
    help: 'Its walk and its place in the stream are kept. The provider keeps events for seven days.',
    ask: (how, installation, source) => how.requestState(installation, source, 'paused'),
  },
  {
    name: 'resume',
    description: 'Let a paused or stopped source run again.',
    help: 'A paused source goes on where it is, a stopped one from its committed offset.',
    ask: (how, installation, source) => how.requestState(installation, source, 'running'),
  },
  {
    name: 'stop',
    description: 'Let a source give up its task; its offset may be altered then.',
    help: 'The connector goes on with the other sources. resume starts this one from its committed offset.',
    ask: (how, installation, source) => how.requestState(installation, source, 'stopped'),
  },
  {
    name: 'restart',
    description: 'Let a failed or running source start again from its committed offset.',
    help: 'Nothing is lost or repeated by it. A source that is stopped stays so: resume starts it.',
    ask: (how, installation, source) => how.requestRestart(installation, source),
  },
];

/** `pause`, `resume`, `stop` and `restart`: through the states topic, so they work from wherever Kafka can be reached. */
export function stateCommands(
  program: Command,
  { env, stdout, signal }: Terminal,
  _exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  for (const { name, description, help, ask } of COMMANDS) {
    const command = program
      .command(name)
      .description(description)
      .argument('<source>', `the name of a source, or ${PRICE_PROCESSOR} for the price processor`)
      .option('--config <file>', 'the settings', DEFAULT_SETTINGS_FILE)
      .addHelpText(
        'after',
        `\n${help}\nIt holds until something else is asked for, restarts included; without a running connector too.\n` +
          `\nExample:\n  spconnect ${name} instruments\n`,
      )
      .action(async (given: string, { config }: { config: string }) => {
        const how = await import('../../operator/state-operation.ts');
        const { atInstallation } = await import('../../operator/installation.ts');
        const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
        const processor = settings.prices.enabled ? [{ name: PRICE_PROCESSOR }] : [];
        const source = knownSource(command, given, [...settings.sources, ...processor]).name;
        await atInstallation({ settings, signal, needs: ['states'] }, (installation) => ask(how, installation, source));
        stdout.write(`${JSON.stringify({ source, asked: name })}\n`);
      });
  }
}
