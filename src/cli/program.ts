import { Command, CommanderError } from 'commander';
import { ConnectorError, ERROR_CODES } from '../errors.ts';
import { demoCommand } from './demo-command.ts';
import { runCommand } from './run-command.ts';
import { simulateCommand } from './simulate-command.ts';
import { EXIT_CODES, type Terminal } from './terminal.ts';

/** Parses the arguments, runs the command, and turns whatever comes out of it into an exit code. Never throws. */
export async function runCommandLine(terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  const program = new Command('spconnect')
    .description("Puts a structured-products provider's reference data on Kafka, exactly once.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    });
  for (const add of [runCommand, demoCommand, simulateCommand]) {
    add(program, terminal, (code) => {
      exitCode = code;
    });
  }
  try {
    await program.parseAsync([...terminal.arguments], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
    return report(error, terminal);
  }
}

function report(error: unknown, terminal: Terminal): number {
  if (terminal.signal.aborted && error === terminal.signal.reason) return EXIT_CODES.ok;
  if (!(error instanceof ConnectorError)) {
    terminal.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    return EXIT_CODES.failed;
  }
  terminal.stderr.write(`${error.code}: ${error.message}\n`);
  if (error.code === 'SETTINGS_INVALID') return EXIT_CODES.usage;
  terminal.stderr.write(`${ERROR_CODES[error.code].remedy}\n`);
  return EXIT_CODES.failed;
}
