import { loadSettings } from '../../../src/config/load.ts';
import { logEvents } from '../../../src/observe/event-table.ts';
import { createLog } from '../../../src/observe/pino-log.ts';
import { runConnector } from '../../../src/run/connector.ts';
import type { Roles } from '../../../src/run/context.ts';
import { type KillMoment, killingKafka } from '../kafka/killing-kafka.ts';

/*
 * The connector as a process of its own. Its first argument is JSON: a moment at which it kills or stops itself, or null
 * to end in good order when a walk is done that was not resumed, or "stay" to end only when it is asked to, as one that
 * stops itself does. ROLES names its roles.
 */
const END_GRACE_MS = 1_000;
const argument = JSON.parse(process.argv[2] ?? 'null') as KillMoment | 'stay' | null;
const moment = argument === 'stay' ? null : argument;
const endsWithWalk = argument !== 'stay' && argument?.signal !== 'SIGSTOP';
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort(new Error('stopped by SIGTERM')));

const settings = await loadSettings({ text: process.env.SETTINGS, env: process.env });
const log = createLog({ level: settings.log.level, format: 'json' });
const events = logEvents(log);
await runConnector({
  settings,
  log,
  events: {
    ...events,
    walkCompleted(event) {
      events.walkCompleted(event);
      if (endsWithWalk && !event.resumed) stop.abort(new Error('the walk is complete'));
    },
  },
  ...(process.env.ROLES !== undefined && { roles: process.env.ROLES as Roles }),
  signal: stop.signal,
  ...(moment !== null && { overrides: { wrapKafka: killingKafka(moment) } }),
});
// As main.ts does: kafkajs may leave a connection open that was being made while a partition was lost.
setTimeout(() => process.exit(), END_GRACE_MS).unref();
