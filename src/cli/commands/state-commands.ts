import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { Installation } from '../../operator/installation.ts';
import type * as operation from '../../operator/state-operation.ts';
import { PRICE_PROCESSOR } from '../../worker/target.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { atTopics } from './at-topics.ts';
import { knownSource } from './known-source.ts';

interface StateCommand {
  readonly name: string;
  readonly description: string;
  readonly help: string;
  /** What is wanted of the source then. */
  readonly asked: string;
  readonly ask: (how: typeof operation, installation: Installation, source: string) => Promise<void>;
}

const COMMANDS: readonly StateCommand[] = [
  {
    name: 'pause',
    description: 'Pause a source: it keeps its position and sends no requests to the provider.',
    help: 'Its walk and its position in the stream are kept. The provider keeps events for seven days only.',
    asked: 'paused',
    ask: (how, installation, source) => how.requestState(installation, source, 'paused'),
  },
  {
    name: 'resume',
    description: 'Resume a paused or stopped source.',
    help: 'A paused source continues where it is, a stopped one from its committed offset.',
    asked: 'running',
    ask: (how, installation, source) => how.requestState(installation, source, 'running'),
  },
  {
    name: 'stop',
    description: 'Stop the task of a source; its offset can be changed after that.',
    help: 'The other sources continue. resume starts this one from its committed offset.',
    asked: 'stopped',
    ask: (how, installation, source) => how.requestState(installation, source, 'stopped'),
  },
  {
    name: 'restart',
    description: 'Restart a failed or running source from its committed offset.',
    help: 'Nothing is lost or written twice. A stopped source stays stopped: resume starts it.',
    asked: 'restart',
    ask: (how, installation, source) => how.requestRestart(installation, source),
  },
];

/** `pause`, `resume`, `stop` and `restart`: through the states topic, so they work from wherever Kafka can be reached. */
export function stateCommands(program: Command, context: CommandContext): void {
  const { stdout, stderr } = context;
  for (const { name, description, help, asked, ask } of COMMANDS) {
    const command = program
      .command(name)
      .description(description)
      .argument('<source>', `the name of a source, or ${PRICE_PROCESSOR} for the price processor`)
      .addOption(outputOption())
      .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
      .addHelpText(
        'after',
        `\n${help}\nThe request is kept until another one replaces it, also across restarts. No connector has to run.\n` +
          `\nExample:\n  spconnect ${name} instruments\n`,
      )
      .action(async (given: string, { config, output }: DataOptions) => {
        const how = await import('../../operator/state-operation.ts');
        const source = await atTopics(context, {
          config,
          needs: ['states'],
          check({ sources, prices }) {
            // Whether prices run depends on the provider's address, which need not be set here.
            const processor = prices.from.length > 0 ? [{ name: PRICE_PROCESSOR }] : [];
            return knownSource(command, given, [...sources, ...processor]).name;
          },
          work: async (at, known) => {
            await ask(how, at, known);
            return known;
          },
        });
        stdout.write(output === 'json' ? jsonText({ source, asked: name }) : textTable([[source, asked]]));
        stderr.write(`Requested. A running connector does it at once, another one when it starts.\n`);
      });
  }
}
