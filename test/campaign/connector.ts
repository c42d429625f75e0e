import { loadSettings } from '../../src/config/load.ts';
import { logEvents, toAll } from '../../src/observe/event-table.ts';
import type { Events } from '../../src/observe/events.ts';
import { createLog } from '../../src/observe/pino-log.ts';
import { loadPrices, loadSources, runConnector } from '../../src/run/connector.ts';
import { armableKafka } from '../support/kafka/killing-kafka.ts';
import { type FromReplica, REPORTED, type ToReplica, usageNow } from './messages.ts';

/*
 * One replica of a connector, as a process of its own: `run`, with the settings in the environment. It reports to the
 * campaign what it commits, kills itself at a moment for which it is armed, and ends with the campaign, however that ends.
 */
if (process.env.COMPILE_ONLY !== undefined) {
  await Promise.all([loadSources(), loadPrices()]);
  process.exit();
}
const END_GRACE_MS = 1_000;
const send = (message: FromReplica) => void (process.connected && process.send?.(message));
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));
process.on('disconnect', () => process.exit(1));

const kafka = armableKafka();
process.on('message', (message: ToReplica) => {
  if (message.ask === 'usage') send({ usage: usageNow() });
  else kafka.arm(message.moment);
});

const settings = await loadSettings({ text: process.env.SETTINGS, env: process.env });
const log = createLog({ level: settings.log.level, format: 'json' });
const reporting = new Proxy({} as Events, {
  get: (_, name) => (fields: { readonly err?: Error }) => {
    const event = REPORTED.find((reported) => reported === name);
    if (event !== undefined) send({ event, atMs: Date.now(), text: String(fields.err ?? '') });
  },
});
const failed = await runConnector({
  settings,
  log,
  events: toAll([logEvents(log), reporting]),
  signal: stop.signal,
  overrides: { wrapKafka: kafka.wrap },
});
if (failed.length > 0) process.exitCode = 1;
process.removeAllListeners('disconnect');
process.disconnect();
// As main.ts does: kafkajs may leave a connection open that was being made while a partition was lost.
setTimeout(() => process.exit(), END_GRACE_MS).unref();
