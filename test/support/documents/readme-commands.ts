import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { createProgram } from '../../../src/commands/shell/program.ts';
import { createRedaction } from '../../../src/observe/redaction.ts';

interface DocumentedCommand {
  /** With the commands that it stands under: `offsets reset`. */
  readonly path: string;
  readonly usage: string;
  /** `--since` and the like. */
  readonly options: readonly string[];
  readonly description: string;
  /** From its help: whole command lines. */
  readonly examples: readonly string[];
}

/** Every command that does something itself, in the order of the help. */
export async function documentedCommands(): Promise<DocumentedCommand[]> {
  let help = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      help += String(chunk);
      done();
    },
  });
  const program = createProgram({
    arguments: [],
    env: {},
    stdout: sink,
    stderr: sink,
    signal: new AbortController().signal,
    exitWith() {},
    redaction: createRedaction(),
  });
  const visit = (command: Command, above: string): DocumentedCommand[] => {
    const path = `${above}${command.name()}`;
    if (command.commands.length > 0) return command.commands.flatMap((inner) => visit(inner, `${path} `));
    help = '';
    command.outputHelp();
    return [
      {
        path,
        usage: command.createHelp().commandUsage(command).replace(' [options]', ''),
        options: command.options.map(({ long }) => long ?? ''),
        description: command.description(),
        examples: [...help.matchAll(/^ {2}(spconnect .*)$/gm)].map((match) => match[1] ?? ''),
      },
    ];
  };
  return program.commands.flatMap((command) => visit(command, ''));
}
