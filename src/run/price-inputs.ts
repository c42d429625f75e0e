import { type Settings, topicOf } from '../config/settings.ts';

/** What the price processor reads: as this group, the topics of the sources whose instruments are priced. */
export interface PriceInputs {
  readonly groupId: string;
  readonly topics: readonly string[];
}

export function priceInputs(settings: Settings): PriceInputs {
  const { prefix, sources, prices } = settings;
  const topics = sources.flatMap((source) =>
    source.type === 'instruments' && prices.from.includes(source.name)
      ? [topicOf(settings, source.topics.instruments)]
      : [],
  );
  return { groupId: `${prefix}-prices`, topics };
}
