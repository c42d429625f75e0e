import type { SourceSettings, SourceSettingsOf } from '../../config/settings.ts';
import { offsetKey, parseReset } from '../../kafka/offset-store.ts';
import type { Source } from '../offset-partition.ts';
import { readResetOffset } from '../stream/committed-stream.ts';
import type { CoreTaskOptions } from '../tasks/core-task.ts';
import { EVENTS } from './events.ts';
import { INSTRUMENTS } from './instruments.ts';
import type { SourceContext, SourceKind, TaskContext } from './kind.ts';
import { PRE_TRADE_CHECKS } from './pre-trade-checks.ts';

const SOURCE_KINDS: { readonly [Type in SourceSettings['type']]: SourceKind<SourceSettingsOf<Type>> } = {
  instruments: INSTRUMENTS,
  events: EVENTS,
  'pre-trade-checks': PRE_TRADE_CHECKS,
};

/** Call the functions of the returned kind only with sources of this type. */
export function kindOf({ type }: Pick<SourceSettings, 'type'>): SourceKind {
  return SOURCE_KINDS[type];
}

/** A source is opened when it first starts, because the message size limits of its topics are known only then. */
export function createSources(context: SourceContext & TaskContext): readonly Source[] {
  const { clock, random, events } = context;
  const { notifications } = context.topics.shared;
  return context.settings.sources.map((source) => {
    const kind = kindOf(source);
    const open = () => {
      const opened = kind.open(source, context);
      const encodeNotification: CoreTaskOptions['encodeNotification'] = async (content, signal) =>
        (await opened.schemas(signal)).encodeNotification(content);
      const options = { source: source.name, notifications, encodeNotification, events, clock, random };
      return { tasks: opened.tasks(context), options };
    };
    let opened: ReturnType<typeof open> | undefined;
    return {
      name: source.name,
      offsetKey: offsetKey(source.name, source.type),
      startTask(committed, topicIds) {
        opened ??= open();
        const reset = committed && parseReset(committed);
        const offset = committed && !reset ? kind.readOffset(source, committed) : null;
        return opened.tasks.start(opened.options, offset, reset && readResetOffset(reset), topicIds);
      },
    };
  });
}
