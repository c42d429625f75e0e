import { Command, CommanderError } from 'commander';
import { ConnectorError } from '../errors.ts';
import { createRedaction } from '../observability/redaction.ts';
import { projectVersion } from '../support/version.ts';
import type { CommandContext } from './command-context.ts';
import { describeError } from './describe-error.ts';
import { EXIT_CODES, type Terminal } from './terminal.ts';
import { usageHint } from './usage.ts';

type AddCommand = (program: Command, context: CommandContext) => void;

/** In the order of the help. Each is loaded by itself where the arguments name it, as `run` is at each start. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  run: async () => (await import('./commands/run-command.ts')).runCommand,
  validate: async () => (await import('./commands/validate-command.ts')).validateCommand,
  doctor: async () => (await import('./commands/doctor-command.ts')).doctorCommand,
  config: async () => (await import('./commands/config-command.ts')).configCommand,
  topics: async () => (await import('./commands/topics-command.ts')).topicsCommand,
  schemas: async () => (await import('./commands/schemas-command.ts')).schemasCommand,
  status: async () => (await import('./commands/status-command.ts')).statusCommand,
  'pause, resume, stop, restart': async () => (await import('./commands/state-commands.ts')).stateCommands,
  walk: async () => (await import('./commands/walk-command.ts')).walkCommand,
  tail: async () => (await import('./commands/tail-command.ts')).tailCommand,
  preview: async () => (await import('./commands/preview-command.ts')).previewCommand,
  audit: async () => (await import('./commands/audit-command.ts')).auditCommand,
  backfill: async () => (await import('./commands/backfill-command.ts')).backfillCommand,
  offsets: async () => (await import('./commands/offsets-command.ts')).offsetsCommand,
  'dead-letters': async () => (await import('./commands/dead-letters-command.ts')).deadLettersCommand,
  lookup: async () => (await import('./commands/lookup-command.ts')).lookupCommand,
  demo: async () => (await import('./commands/demo-command.ts')).demoCommand,
  simulate: async () => (await import('./commands/simulate-command.ts')).simulateCommand,
};

const EXAMPLES = `
Examples:
  spconnect validate --connect
  spconnect run
  spconnect status
  spconnect tail notifications --from-beginning

Each command has --help with examples. Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed
or found a problem, 2 wrong arguments or settings.
`;

/**
 * The command that the first argument names, or every command, with arguments, options and help.
 * Exported for tests.
 */
export async function createProgram(context: CommandContext): Promise<Command> {
  const [first = ''] = context.arguments;
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  const added = await Promise.all((named ? [named] : Object.values(COMMANDS)).map((load) => load()));
  const program = new Command('spconnect')
    .description("Puts a structured-products provider's reference data and prices on Kafka, exactly once.")
    .version(projectVersion(), '--version')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
  for (const add of added) add(program, context);
  hintAtUsage(program);
  return program;
}

function hintAtUsage(command: Command): void {
  command.showHelpAfterError(usageHint(command));
  for (const inner of command.commands) hintAtUsage(inner);
}

/** These go on until they are stopped: that ends them well. */
const ENDLESS = ['run', 'tail', 'demo', 'simulate'];

/** Parses the arguments, runs the command, and turns whatever comes out of it into an exit code. Never throws. */
export async function runCommandLine(terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  const redaction = createRedaction();
  const exitWith = (code: number) => {
    exitCode = code;
  };
  let isEndless = false;
  const program = await createProgram({ ...terminal, exitWith, redaction });
  program.hook('preAction', (all, chosen) => {
    isEndless = chosen.parent === all && ENDLESS.includes(chosen.name());
  });
  try {
    await program.parseAsync([...terminal.arguments], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    if (terminal.signal.aborted && error === terminal.signal.reason) {
      // A reader that has enough is no interruption.
      if (isEndless || !(error instanceof Error) || error.cause === undefined) return EXIT_CODES.ok;
      terminal.stderr.write(`${error.cause} ended the command before it was done: its result is not known.\n`);
      return EXIT_CODES.interrupted;
    }
    terminal.stderr.write(describeError(error, redaction));
    const isUsage = error instanceof ConnectorError && error.code === 'SETTINGS_INVALID';
    return isUsage ? EXIT_CODES.usage : EXIT_CODES.failed;
  }
}
