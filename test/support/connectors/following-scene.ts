import type { TestContext } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { universeViolations } from '../ledgers/universe-log.ts';
import { universeOnTopics } from '../ledgers/universe-on-topics.ts';
import { ledgerUniverse } from '../ledgers/universe-reading.ts';
import { memoryScene, PREFIX } from './memory-scene.ts';

export const INSTRUMENTS = 200;

/** A source that has walked and now follows the stream, with Kafka in memory and waits that take no time. */
export async function followingScene(
  t: TestContext,
  options: SimulatorOptions = {},
  source: Readonly<Record<string, string | number>> = {},
) {
  const scene = await memoryScene(t, { instruments: INSTRUMENTS, seed: 9, ...options });
  const { simulator, kafka } = scene;
  const first = await ledgerUniverse(simulator);
  // A walk would heal what the stream loses.
  const connector = await scene.start({ walkInterval: '365d', ...source });
  await connector.event('walkCompleted');
  const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
  return {
    ...scene,
    connector,
    ids,
    /** So many events of as many instruments; gives the offset of the last. */
    change(count: number) {
      const offsets = ids.slice(0, count).map((id) => simulator.publish({ kind: 'datachange', id }).offset);
      return offsets.at(-1) ?? '';
    },
    /** Resolves when the source has committed this offset of the stream. */
    reached: (offset: string | null) =>
      connector.until(`the offset ${offset}`, () =>
        connector.fieldsOf('streamCommitted').some(({ since }) => since === offset),
      ),
    /** Stops the connector; lists the errors on the topics. */
    async violations() {
      await connector.stop();
      const isDue = () => true;
      return universeViolations(await universeOnTopics({ kafka, prefix: PREFIX, simulator, first, isDue }));
    },
  };
}
