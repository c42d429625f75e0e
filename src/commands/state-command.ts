import { atInstallation } from '../run/installation.ts';
import { requestRestart, requestState } from '../run/state-operation.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import { knownSource, loadWithoutProvider } from './command-settings.ts';
import { print, textTable } from './shell/output.ts';
import type { CommandContext } from './shell/terminal.ts';

const ALSO = {
  resume: ' A failed source that was not stopped also needs restart.',
  restart: ' A paused or stopped source also needs resume.',
};
const STATES = { pause: 'paused', resume: 'running', stop: 'stopped' } as const;

/** `pause`, `resume`, `stop` and `restart` write to the states topic, so they need only Kafka. */
export async function stateCommand(
  context: CommandContext,
  request: keyof typeof STATES | 'restart',
  given: string,
): Promise<void> {
  const { signal, stderr } = context;
  const settings = await loadWithoutProvider(context);
  const { sources, prices } = settings;
  // `prices.enabled` is false if the address of market data is unset, as it may be here. `prices.from` does not depend on it.
  const processor = prices.from.length > 0 ? [{ name: PRICE_PROCESSOR }] : [];
  const { name } = knownSource(context, given, [...sources, ...processor]);
  await atInstallation({ settings, signal, needs: ['states'] }, (at) =>
    request === 'restart' ? requestRestart(at, name) : requestState(at, name, STATES[request]),
  );
  const shown = request === 'restart' ? request : STATES[request];
  print(context, { source: name, asked: request }, textTable([[name, shown]]));
  const text = 'Requested. A running connector does this at once. A stopped connector does this when it starts.';
  stderr.write(`${text}${ALSO[request as keyof typeof ALSO] ?? ''}\n`);
}
