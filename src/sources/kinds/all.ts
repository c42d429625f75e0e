import type { SourceSettings, SourceSettingsOf } from '../../config/settings.ts';
import { offsetKey } from '../../kafka/offset-store.ts';
import type { Source } from '../offset-partition.ts';
import { EVENTS } from './events.ts';
import { INSTRUMENTS } from './instruments.ts';
import type { SourceContext, SourceKind, TaskContext } from './kind.ts';
import { PRE_TRADE_CHECKS } from './pre-trade-checks.ts';

const SOURCE_KINDS: { readonly [Type in SourceSettings['type']]: SourceKind<SourceSettingsOf<Type>> } = {
  instruments: INSTRUMENTS,
  events: EVENTS,
  'pre-trade-checks': PRE_TRADE_CHECKS,
};

/** Its functions are for sources of this type alone. */
export function kindOf({ type }: Pick<SourceSettings, 'type'>): SourceKind {
  return SOURCE_KINDS[type];
}

/** Each source is made at its first start: the size limits of its topics are known only then. */
export function createSources(context: SourceContext & TaskContext): readonly Source[] {
  return context.settings.sources.map((source) => {
    let start: Source['startTask'] | undefined;
    return {
      name: source.name,
      offsetKey: offsetKey(source.name, source.type),
      startTask(offset, topicIds) {
        start ??= kindOf(source).open(source, context).startTask(context);
        return start(offset, topicIds);
      },
    };
  });
}
