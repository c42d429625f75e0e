import type { Command } from 'commander';
import type { Simulator } from '../../simulator/simulator.ts';
import { portNumber, ratePerSecond, wholeNumberOption } from '../numbers.ts';
import { jsonLine, type Output, outputOption } from '../output.ts';
import { EXIT_CODES, type Terminal } from '../terminal.ts';

interface SimulateOptions {
  readonly host: string;
  readonly port: number;
  readonly instruments: number;
  readonly seed: number;
  readonly changes: number;
  readonly output: Output;
}

/** `simulate`: the provider, simulated, until it is stopped. Its addresses go to stdout, for a shell or as one line of JSON. */
export function simulateCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('simulate')
    .description('Serve a simulated provider: both interfaces, a token endpoint and a control path.')
    .option('--host <address>', 'address to listen on; 0.0.0.0 for every network', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 for a free one', portNumber, 8090)
    .option('--instruments <count>', 'instruments in the universe', wholeNumberOption, 5_000)
    .option('--seed <number>', 'the same seed gives the same universe', wholeNumberOption, 1)
    .option('--changes <rate>', 'changes of the universe per second', ratePerSecond, 0)
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  spconnect simulate --instruments 50000 --changes 20\n')
    .action(async ({ host, port, instruments, seed, changes, output }: SimulateOptions) => {
      const { createSimulator } = await import('../../simulator/simulator.ts');
      const starting = createSimulator({ host, port, instruments, seed, mutationsPerSecond: changes });
      const simulator = await starting.catch((error: unknown) => refuseTakenPort(error, host, port, command));
      terminal.stderr.write(
        `A simulated provider listens at ${simulator.url}; Ctrl-C ends it. Its control path, which breaks responses and moves\n` +
          `the clock, is ${simulator.controlUrl} (src/simulator/README.md). For a connector in another shell; nothing of it is secret:\n`,
      );
      terminal.stdout.write(output === 'json' ? jsonLine(addressesOf(simulator)) : exportsOf(simulator));
      await stopped(terminal.signal);
      await simulator.close();
    });
}

function addressesOf({ referenceDataUrl, marketDataUrl, tokenUrl, controlUrl, clientId, clientSecret }: Simulator) {
  return { referenceDataUrl, marketDataUrl, tokenUrl, controlUrl, clientId, clientSecret };
}

function exportsOf({ referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret }: Simulator): string {
  return (
    `export REFERENCE_DATA_URL=${referenceDataUrl} MARKET_DATA_URL=${marketDataUrl}\n` +
    `export AUTH_TOKEN_URL=${tokenUrl} CLIENT_ID=${clientId} CLIENT_SECRET=${clientSecret}\n`
  );
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
