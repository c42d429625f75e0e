import { Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { runCommandLine } from '../../../../src/commands/shell/program.ts';
import type { SimulatorOptions } from '../../../../src/dev/simulator/options.ts';
import { createSimulator } from '../../../../src/dev/simulator/simulator.ts';

/** A Kafka and a registry of which no port answers. */
export const NOWHERE = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };

/** A provider of which no port answers. */
export const NO_PROVIDER = {
  referenceDataUrl: 'http://127.0.0.1:1/r',
  tokenUrl: 'http://127.0.0.1:1/t',
  clientId: 'c',
  clientSecret: 'secret-of-c',
};

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in this process, with an empty environment unless one is given. */
export async function runWith(
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly signal?: AbortSignal } = {},
): Promise<Ran> {
  const [stdout, stderr] = [collector(), collector()];
  const { env = {}, signal = new AbortController().signal } = options;
  const code = await runCommandLine({ arguments: args, env, stdout: stdout.stream, stderr: stderr.stream, signal });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** A simulated provider, and the command line with the usual settings for it; nothing else is there. */
export async function providerScene(t: TestContext, options: SimulatorOptions = {}, more: Record<string, string> = {}) {
  const simulator = await createSimulator({ seed: 3, port: 0, ...options });
  t.after(() => simulator.close());
  const { referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret } = simulator;
  const env = {
    TOPIC_PREFIX: 'p',
    PRE_TRADE_CHECKS: 'true',
    REFERENCE_DATA_URL: referenceDataUrl,
    MARKET_DATA_URL: marketDataUrl,
    AUTH_TOKEN_URL: tokenUrl,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    ...more,
  };
  return {
    simulator,
    spconnect: (...args: readonly string[]) => runWith(args, { env }),
    /** A user triggers a check of the first instrument; gives its id and the URL that allows trading. */
    triggerCheck() {
      const [instrument] = [...simulator.ledger.instruments()];
      const id = simulator.triggerCheck(instrument?.id ?? '');
      const text = [...simulator.ledger.checks()].at(-1)?.text ?? '';
      return { id, instrument: instrument?.id, url: /"simulationUrl":"([^"]+)"/.exec(text)?.[1] ?? '' };
    },
  };
}

/** Keeps what is written. */
export function collector(): { stream: Writable; text(): string } {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}
