import type { SourceSettings, SourceSettingsOf } from '../../config/settings.ts';
import { offsetKey } from '../../kafka/offset-store.ts';
import type { Source } from '../offset-partition.ts';
import { EVENTS } from './events.ts';
import { INSTRUMENTS } from './instruments.ts';
import type { SourceContext, SourceKind } from './kind.ts';
import { PRE_TRADE_CHECKS } from './pre-trade-checks.ts';

/** The types of sources, each in its file. */
const SOURCE_KINDS: { readonly [Type in SourceSettings['type']]: SourceKind<SourceSettingsOf<Type>> } = {
  instruments: INSTRUMENTS,
  events: EVENTS,
  'pre-trade-checks': PRE_TRADE_CHECKS,
};

/** The kind of some source; its functions are for sources of this type alone. */
export function kindOf({ type }: Pick<SourceSettings, 'type'>): SourceKind {
  return SOURCE_KINDS[type];
}

/** The sources of the settings. Each is made at its first start: how much its topics take is known only then. */
export function createSources(context: SourceContext): readonly Source[] {
  return context.settings.sources.map((source) => {
    let made: Source | undefined;
    return {
      name: source.name,
      offsetKey: offsetKey(source.name, source.type),
      startTask(offset, topicIds) {
        made ??= kindOf(source).create(source, context);
        return made.startTask(offset, topicIds);
      },
    };
  });
}
