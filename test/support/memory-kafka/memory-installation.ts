import { loadSettings } from '../../../src/config/load.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import type { Installation } from '../../../src/run/installation.ts';
import { settingsText } from '../../unit/config/settings-text.ts';
import { skippingClock } from '../runner/manual-clock.ts';
import { MemoryBroker } from './memory-broker.ts';
import { createMemoryCluster } from './memory-cluster.ts';

/** The topics of an installation in memory, with the usual source and prices, and a way to write beside its connector. */
export async function memoryInstallation({ withTopics = true } = {}) {
  const lines = { prefix: 'prefix: p', marketData: 'marketData: { url: "https://prices.example/" }' };
  const settings = await loadSettings({ text: settingsText(lines), env: {} });
  const broker = new MemoryBroker(() => 0);
  const topics = topicPlan({ prefix: 'p', ...settings.topics });
  if (withTopics) for (const topic of Object.values(topics)) broker.createTopic(topic);
  const { signal } = new AbortController();
  const kafka = createMemoryCluster({ broker });
  const at: Installation = { settings, prefix: 'p', kafka, topics, clock: skippingClock(), signal };
  return {
    ...at,
    broker,
    async write(records: readonly OutgoingRecord[]): Promise<void> {
      const writer = kafka.transactionalWriter('other');
      await writer.open(async () => {}, signal);
      await writer.commit({ records });
    },
  };
}
