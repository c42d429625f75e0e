import type { Command } from 'commander';
import type { Simulator } from '../../simulator/simulator.ts';
import { portNumber, ratePerSecond, wholeNumberOption } from '../numbers.ts';
import { EXIT_CODES, type Terminal } from '../terminal.ts';

/** `simulate`: the provider, simulated, until it is stopped. Its addresses go to stdout as one line of JSON. */
export function simulateCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('simulate')
    .description('Serve a simulated provider: both interfaces, a token endpoint and a control path.')
    .option('--host <address>', 'address to listen on; 0.0.0.0 for every network', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 for a free one', portNumber, 8090)
    .option('--instruments <count>', 'instruments in the universe', wholeNumberOption, 5_000)
    .option('--seed <number>', 'the same seed gives the same universe', wholeNumberOption, 1)
    .option('--changes <rate>', 'changes of the universe per second', ratePerSecond, 0)
    .addHelpText('after', '\nExample:\n  spconnect simulate --instruments 50000 --changes 20\n')
    .action(async (options: { host: string; port: number; instruments: number; seed: number; changes: number }) => {
      const { createSimulator } = await import('../../simulator/simulator.ts');
      const { host, port, instruments, seed, changes } = options;
      const starting = createSimulator({ host, port, instruments, seed, mutationsPerSecond: changes });
      const simulator = await starting.catch((error: unknown) => refuseTakenPort(error, host, port, command));
      const { referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret } = simulator;
      terminal.stdout.write(
        `${JSON.stringify({ referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret })}\n`,
      );
      terminal.stderr.write(
        'To run a connector with it (none of this is secret):\n' +
          `  export REFERENCE_DATA_URL=${referenceDataUrl} MARKET_DATA_URL=${marketDataUrl}\n` +
          `  export AUTH_TOKEN_URL=${tokenUrl} CLIENT_ID=${clientId} CLIENT_SECRET=${clientSecret}\n`,
      );
      await stopped(terminal.signal);
      await simulator.close();
    });
}

function refuseTakenPort(error: unknown, host: string, port: number, command: Command): Promise<Simulator> {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
  const text = `error: port ${port} of ${host} is in use; choose another with --port, or 0 for a free one.`;
  return command.error(text, { exitCode: EXIT_CODES.usage });
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
