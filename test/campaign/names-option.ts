import { InvalidArgumentError } from 'commander';

/** Reads an option that is a list of names, separated by commas, each of which must be one of `known`. */
export function namesOf<const Name extends string>(known: readonly Name[]): (text: string) => readonly Name[] {
  return (text) =>
    text.split(',').map((name) => {
      const found = known.find((one) => one === name);
      if (found === undefined) throw new InvalidArgumentError(`"${name}" is none of ${known.join(', ')}.`);
      return found;
    });
}
