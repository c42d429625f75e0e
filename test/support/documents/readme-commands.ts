import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { createProgram } from '../../../src/cli/program.ts';
import { createRedaction } from '../../../src/observability/redaction.ts';

/** A command as its definition has it. */
export interface DocumentedCommand {
  /** With the commands that it stands under: `offsets reset`. */
  readonly path: string;
  /** With its arguments and options; those that all commands have are left out. */
  readonly usage: string;
  readonly description: string;
  /** From its help: whole command lines. */
  readonly examples: readonly string[];
}

const EVERYWHERE = /^--(config|output|help)\b/;

/** Every command that does something itself, in the order of the help. */
export function documentedCommands(): DocumentedCommand[] {
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
    const values = command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
      return argument.required ? `<${name}>` : `[${name}]`;
    });
    const options = command.options.filter(({ flags }) => !EVERYWHERE.test(flags));
    return [
      {
        path,
        usage: ['spconnect', path, ...values, ...options.map(({ flags }) => `[${flags}]`)].join(' '),
        description: command.description(),
        examples: [...help.matchAll(/^ {2}(spconnect .*)$/gm)].map((match) => match[1] ?? ''),
      },
    ];
  };
  return program.commands.flatMap((command) => visit(command, ''));
}
