import type { Command } from 'commander';

/** Options that every command has or may have. */
const EVERYWHERE = /^--(config|output|help|version)\b/;

/** A command with its arguments and its own options, as one line; `<value>` of an option with choices shows these. Exported for tests. */
export function usageLine(command: Command): string {
  const values = command.registeredArguments.map((argument) => {
    const name = argument.argChoices?.join('|') ?? `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  const options = command.options.filter(({ flags }) => !EVERYWHERE.test(flags));
  const shown = options.map(
    ({ flags, argChoices }) => `[${argChoices ? flags.replace(/<.*>/, argChoices.join('|')) : flags}]`,
  );
  return [pathOf(command), ...values, ...shown].join(' ');
}

/** What stands below an error in the arguments: how the command is used, what may be given, and where to look. */
export function usageHint(command: Command): string {
  const names = command.commands.map((inner) => inner.name()).filter((name) => name !== 'help');
  const usage = names.length > 0 ? `${pathOf(command)} <command>\nCommands: ${names.join(', ')}` : usageLine(command);
  return `Usage: ${usage}\nMore: ${pathOf(command)} --help, or src/cli/README.md`;
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
