import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { wholeNumberOption } from '../numbers.ts';
import { EXIT_CODES } from '../terminal.ts';

/** `demo`: the whole path on real parts, started here. */
export function demoCommand(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('Start Kafka, a schema registry and a simulated provider, and run the connector with them.')
    .option('--once', 'end when the walk is done and all is priced', false)
    .option('--instruments <count>', 'instruments that the provider has', wholeNumberOption, 5_000)
    .addHelpText('after', '\nExample:\n  spconnect demo --instruments 20000\n')
    .action(async (options: { once: boolean; instruments: number }) => {
      const { runDemo } = await import('../../demo/demo.ts');
      const { env, stdout, stderr, signal } = context;
      const isComplete = await runDemo({ ...options, env, stdout, stderr, signal });
      if (!isComplete) context.exitWith(EXIT_CODES.failed);
    });
}
