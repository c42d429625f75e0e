import { Command, CommanderError } from 'commander';
import { ConnectorError } from '../errors.ts';
import { createRedaction } from '../observability/redaction.ts';
import { projectVersion } from '../support/version.ts';
import type { CommandContext } from './command-context.ts';
import { auditCommand } from './commands/audit-command.ts';
import { backfillCommand } from './commands/backfill-command.ts';
import { configCommand } from './commands/config-command.ts';
import { deadLettersCommand } from './commands/dead-letters-command.ts';
import { demoCommand } from './commands/demo-command.ts';
import { doctorCommand } from './commands/doctor-command.ts';
import { lookupCommand } from './commands/lookup-command.ts';
import { offsetsCommand } from './commands/offsets-command.ts';
import { previewCommand } from './commands/preview-command.ts';
import { runCommand } from './commands/run-command.ts';
import { schemasCommand } from './commands/schemas-command.ts';
import { simulateCommand } from './commands/simulate-command.ts';
import { stateCommands } from './commands/state-commands.ts';
import { statusCommand } from './commands/status-command.ts';
import { tailCommand } from './commands/tail-command.ts';
import { topicsCommand } from './commands/topics-command.ts';
import { validateCommand } from './commands/validate-command.ts';
import { walkCommand } from './commands/walk-command.ts';
import { describeError } from './describe-error.ts';
import { EXIT_CODES, type Terminal } from './terminal.ts';
import { usageHint } from './usage.ts';

const COMMANDS = [
  runCommand,
  validateCommand,
  doctorCommand,
  configCommand,
  topicsCommand,
  schemasCommand,
  statusCommand,
  stateCommands,
  walkCommand,
  tailCommand,
  previewCommand,
  auditCommand,
  backfillCommand,
  offsetsCommand,
  deadLettersCommand,
  lookupCommand,
  demoCommand,
  simulateCommand,
];

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
 * Every command with its arguments, options and help.
 * Exported for tests.
 */
export function createProgram(context: CommandContext): Command {
  const program = new Command('spconnect')
    .description("Puts a structured-products provider's reference data and prices on Kafka, exactly once.")
    .version(projectVersion(), '--version')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
  for (const add of COMMANDS) add(program, context);
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
  const program = createProgram({ ...terminal, exitWith, redaction }).hook('preAction', (all, chosen) => {
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
