import { once } from 'node:events';
import { createSimulator } from '../simulator/simulator.ts';
import { runDemo } from './demo.ts';

/** The part of a command's context that these commands use. */
interface Context extends Pick<Parameters<typeof runDemo>[0], 'env' | 'stdout' | 'stderr' | 'signal'> {
  readonly output: 'text' | 'json';
  readonly exitWith: (code: number) => void;
  readonly refuse: (text: string) => never;
}

export async function demoCommand(
  { env, stdout, stderr, signal, exitWith }: Context,
  options: { readonly once: boolean; readonly instruments: number },
): Promise<void> {
  const isComplete = await runDemo({ ...options, env, stdout, stderr, signal });
  if (isComplete) return;
  signal.throwIfAborted();
  exitWith(1);
}

interface SimulateOptions {
  readonly host: string;
  readonly port: number;
  readonly instruments: number;
  readonly seed: number;
  readonly changes: number;
}

/** `simulate`: serves a simulated provider until it is stopped. Prints its addresses for a shell, or as JSON. */
export async function simulateCommand(
  { stdout, stderr, signal, output, refuse }: Context,
  { host, port, instruments, seed, changes }: SimulateOptions,
): Promise<void> {
  const starting = createSimulator({ host, port, instruments, seed, mutationsPerSecond: changes });
  const simulator = await starting.catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    return refuse(`port ${port} of ${host} is in use; choose another with --port, or 0 for any free port.`);
  });
  const { referenceDataUrl, marketDataUrl, tokenUrl, controlUrl, clientId, clientSecret } = simulator;
  stderr.write(
    `A simulated provider listens at ${simulator.url}; Ctrl-C ends it.\n` +
      `Its control path breaks responses and moves the clock:\n  ${controlUrl} (src/dev/simulator/README.md)\n` +
      'Values for a connector in another shell; no value is secret:\n',
  );
  stdout.write(
    output === 'json'
      ? `${JSON.stringify({ referenceDataUrl, marketDataUrl, tokenUrl, controlUrl, clientId, clientSecret })}\n`
      : `export REFERENCE_DATA_URL=${referenceDataUrl}\nexport MARKET_DATA_URL=${marketDataUrl}\n` +
          `export AUTH_TOKEN_URL=${tokenUrl}\nexport CLIENT_ID=${clientId} CLIENT_SECRET=${clientSecret}\n`,
  );
  if (!signal.aborted) await once(signal, 'abort');
  await simulator.close();
}
