import type { Command } from 'commander';
import { nearestName } from '../../config/suggestion.ts';
import { EXIT_CODES } from '../terminal.ts';

/** The source of that name, or an error of usage with the names that there are. */
export function knownSource<Source extends { readonly name: string }>(
  command: Command,
  name: string,
  sources: readonly Source[],
): Source {
  const found = sources.find((source) => source.name === name);
  if (found !== undefined) return found;
  const names = sources.map((source) => source.name);
  const nearest = nearestName(name, names);
  const meant = nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`;
  const there = names.length === 0 ? 'The settings have none' : `The settings have: ${names.join(', ')}`;
  return command.error(`error: unknown source ${JSON.stringify(name)}. ${there}.${meant}`, {
    exitCode: EXIT_CODES.usage,
  });
}
