import { InvalidArgumentError } from 'commander';

const HIGHEST_PORT = 65_535;
const HIGHEST_RATE = 10_000;

/** Reads an option that is a count. */
export function wholeNumberOption(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('Expected a whole number.');
  return value;
}

/** Reads an option that is a TCP port; 0 means any free one. */
export function portNumber(text: string): number {
  const value = wholeNumberOption(text);
  if (value > HIGHEST_PORT) throw new InvalidArgumentError(`Expected a port from 0 to ${HIGHEST_PORT}.`);
  return value;
}

/** Reads an option that is so many times per second. */
export function ratePerSecond(text: string): number {
  const value = Number(text);
  if (!/^[0-9]/.test(text) || !(value <= HIGHEST_RATE)) {
    throw new InvalidArgumentError(`Expected a number from 0 to ${HIGHEST_RATE}.`);
  }
  return value;
}
