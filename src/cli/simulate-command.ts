import { type Command, InvalidArgumentError } from 'commander';
import { createSimulator } from '../simulator/simulator.ts';
import type { Terminal } from './terminal.ts';

/** `simulate`: the provider, simulated, until it is stopped. Its addresses are printed as one line of JSON. */
export function simulateCommand(program: Command, terminal: Terminal): void {
  program
    .command('simulate')
    .description('Serve a simulated provider: both interfaces, a token endpoint and a control path.')
    .option('--port <number>', 'port on 127.0.0.1; 0 for a free one', wholeNumber, 8090)
    .option('--instruments <count>', 'instruments in the universe', wholeNumber, 5_000)
    .option('--seed <number>', 'the same seed gives the same universe', wholeNumber, 1)
    .option('--changes <rate>', 'changes of the universe per second', Number, 0)
    .addHelpText('after', '\nExample:\n  spconnect simulate --instruments 50000 --changes 20\n')
    .action(async (options: { port: number; instruments: number; seed: number; changes: number }) => {
      const { port, instruments, seed, changes } = options;
      const simulator = await createSimulator({ port, instruments, seed, mutationsPerSecond: changes });
      const { referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret } = simulator;
      terminal.stdout.write(
        `${JSON.stringify({ referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret })}\n`,
      );
      await stopped(terminal.signal);
      await simulator.close();
    });
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('A whole number is needed.');
  return value;
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
