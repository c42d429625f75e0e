import { PRICE_KINDS } from '../config/price-kinds/all.ts';
import { type Settings, topicOf } from '../config/settings.ts';
import { nearestName } from '../config/suggestion.ts';
import { ConnectorError } from '../errors.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { topicPlan } from '../kafka/topic-plan.ts';
import { planSources } from '../setup/planned-sources.ts';

/**
 * The topic of the settings that is meant: by its whole name, or by the part behind the prefix. That of a kind of prices
 * which is not followed is one of them: a backfill writes there.
 *
 * @throws ConnectorError SETTINGS_INVALID with the topics that there are.
 */
export function knownTopic(settings: Settings, given: string): TopicSpecification {
  const { topics } = planSources(settings);
  const plan = topicPlan({ prefix: settings.prefix, ...settings.topics });
  const ofPrices = Object.values(PRICE_KINDS).map(({ topic }) => plan[topic]);
  const found = [...topics, ...ofPrices].find(({ name }) => name === given || name === topicOf(settings, given));
  if (found !== undefined) return found;
  const names = topics.map(({ name }) => name.slice(settings.prefix.length + 1));
  const nearest = nearestName(given, names);
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  throw new ConnectorError(
    'SETTINGS_INVALID',
    `The settings have no topic ${JSON.stringify(given)}; they have: ${names.join(', ')}.${meant}`,
  );
}
