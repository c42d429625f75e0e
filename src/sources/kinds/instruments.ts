import type { SourceSettingsOf } from '../../config/settings.ts';
import type { TopicSpecification } from '../../kafka/topic.ts';
import { EVENT_OFFSET } from '../../provider/page-link.ts';
import { filterText } from '../../provider/reference-data.ts';
import { createCurrentDigests } from '../../records/avro/current-digest.ts';
import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import type { Clock } from '../../support/clock.ts';
import { readUpTo } from '../stream/committed-stream.ts';
import { readCensus, recordAge } from '../tasks/census-reader.ts';
import { eventRecords, type InstrumentTargets, rowRecords } from '../tasks/instrument-records.ts';
import { createInstrumentsTask, type InstrumentsTaskOptions, isDeletion } from '../tasks/instruments-task.ts';
import { KnownDeadRows, readKnownDeadRows } from '../tasks/known-dead-rows.ts';
import { INSTRUMENT_WORDS } from '../tasks/notification-texts.ts';
import { InstrumentsCore } from '../walk/instruments-core.ts';
import { SHRINK_ALWAYS_ALLOWED } from '../walk/instruments-messages.ts';
import {
  committedWalkIntervalMs,
  type InstrumentsOffset,
  readInstrumentsOffset,
  walkTwice,
  writeInstrumentsOffset,
} from '../walk/instruments-offset.ts';
import { marginMs } from '../walk/list-lag.ts';
import { instrumentDecoders, instrumentRequests } from './instrument-requests.ts';
import { itemAgain, rowsFrom, type SourceContext, type SourceKind, type TaskContext, withSchemas } from './kind.ts';

/** The form of an instrument's id. The preview reads the list from an id, and the stream from any other value. */
const ID = /^\d{1,19}$/;

export const INSTRUMENTS: SourceKind<SourceSettingsOf<'instruments'>, InstrumentsOffset> = {
  connectorClass: 'InstrumentsSource',
  walks: true,
  hidesInput: false,
  afterReset: `${INSTRUMENT_WORDS.restart} Events that were not read yet are lost.`,
  offsets: { words: '<digits>-<digits>', form: EVENT_OFFSET, areOrdered: true },
  streamTopic: ({ topics }) => topics['instrument-events'],
  readOffset: (source, committed) => readInstrumentsOffset(committed, source.name, filterText(source)),
  moved(source, offset, now) {
    const walking = walkTwice(readInstrumentsOffset(offset, source.name, String(offset.filter)), now);
    return writeInstrumentsOffset(walking, committedWalkIntervalMs(offset));
  },
  open(source, context) {
    const { topics, clock, events } = context;
    const { 'dead-letters': deadLetters, notifications } = topics.shared;
    const instruments = topics.named('instruments', source.topics.instruments);
    const instrumentEvents = topics.named('instrument-events', source.topics['instrument-events']);
    const targets = { source: source.name, instruments, instrumentEvents, deadLetters, notifications };
    const schemas = instrumentSchemas(source, context, targets);
    const { referenceData, provider, nextOf } = instrumentRequests(source, context, schemas);
    const { eventsEndpoint } = referenceData;
    const deletes = (event: DecodedEvent) => isDeletion(event, source);
    return {
      schemas,
      stream: { ...provider, nextOf },
      async preview(from, limit, signal) {
        if (from === null || ID.test(from)) {
          const { rows } = (await provider.page(from, signal)).decoded;
          return rowRecords(rows.slice(0, limit), targets, {});
        }
        const rows = await rowsFrom(provider, 'atGivenStart', from, signal);
        return eventRecords(rows.slice(0, limit), targets, {}, deletes);
      },
      async reread(letter, headers, signal) {
        if (letter.topic === instruments.name) return null;
        const { decoders } = await schemas(signal);
        return itemAgain(letter, 'events', decoders.events, (rows) => eventRecords(rows, targets, headers, deletes));
      },
      tasks(context) {
        const deadRows = new KnownDeadRows();
        const census = createCensus({ ...context, clock, schemas, targets, eventsEndpoint, deadRows });
        return {
          start(options, offset, reset, topicIds) {
            const filter = filterText(source);
            const decided = { ...source, filter, shrinkAlwaysAllowed: SHRINK_ALWAYS_ALLOWED };
            const topicId = topicIds.get(instruments.name);
            const core = new InstrumentsCore(decided, offset, clock.monotonicMs(), reset, topicId);
            if (core.offset?.walkPending) {
              const { walk, walkCursor: cursor, counts, since, walkResumed } = core.offset;
              const at = { source: source.name, walk, waitMs: marginMs(source, core.offset) };
              // A walk without a written page begins again, and deletes as if there was no restart.
              if (walkResumed) events.walkResumed({ ...at, pages: counts.pages, cursor });
              else events.walkStarted({ ...at, since, why: 'afterRestart' });
            }
            return createInstrumentsTask({
              ...options,
              settings: source,
              targets,
              core,
              provider,
              deadRows,
              walkRequests: context.walkRequests,
              census,
              endpoints: referenceData,
            });
          },
        };
      },
    };
  },
};

function instrumentSchemas(
  source: SourceSettingsOf<'instruments'>,
  context: SourceContext,
  { instruments, instrumentEvents }: Readonly<Record<'instruments' | 'instrumentEvents', TopicSpecification>>,
) {
  const written = { Instrument: instruments, InstrumentEvent: instrumentEvents };
  return withSchemas(source, context, written, ({ Instrument: instrument, InstrumentEvent: event }, mapping) => ({
    ...instrumentDecoders(event, instrument, mapping),
    digests: (signal: AbortSignal) =>
      createCurrentDigests({ ...instrument, schemaText: (id) => context.registry.schemaText(id, signal) }),
  }));
}

function createCensus(
  options: Pick<TaskContext, 'logReader'> & {
    readonly clock: Clock;
    readonly schemas: ReturnType<typeof instrumentSchemas>;
    readonly targets: InstrumentTargets;
    readonly eventsEndpoint: string;
    readonly deadRows: KnownDeadRows;
  },
): InstrumentsTaskOptions['census'] {
  const { logReader: reader, clock, schemas, targets, eventsEndpoint, deadRows } = options;
  const { source, instruments: topic, instrumentEvents, deadLetters } = targets;
  let knowsDeadRows = false;
  return async (offset, signal) => {
    if (!knowsDeadRows) {
      const tail = { reader, topic: deadLetters, source, clock, signal };
      await readKnownDeadRows(deadRows, { ...tail, targetTopic: topic.name, eventsTopic: instrumentEvents.name });
      knowsDeadRows = true;
    }
    const digests = (await schemas(signal)).decoders.digests(signal);
    const { serverDate: time = null, streamStart = null } = offset ?? {};
    const [ageMs, isOvertaken] = [recordAge(time, clock.wallMs()), deadRows.hasEventAfter.bind(deadRows)];
    const eventRecords = { eventsEndpoint, streamStart, ...readUpTo(offset), ageMs, isOvertaken };
    return readCensus({ reader, topic, digests, eventRecords, signal });
  };
}
