import type { TestContext } from 'node:test';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import { eventually } from '../runner/eventually.ts';
import { type Installation, testInstallation } from './installation.ts';

/** Any of those of the offsets topic. */
const PARTITION = 8;

/** Sources of events whose offsets lie on one partition, so that they share a writer, each with a topic of its own. */
interface Neighbours extends Installation {
  readonly names: readonly string[];
  /** Lets something happen at the provider until a source has written more than before. */
  writesOn(source: string): Promise<void>;
}

/** @param kafka further settings of Kafka, beginning with a comma */
export function testNeighbours(
  title: string,
  { count, kafka = '' }: { readonly count: number; readonly kafka?: string },
  body: (t: TestContext, beside: Neighbours) => Promise<void>,
): void {
  const names = namesOnOnePartition(count);
  const source = names.map((name) => ({ name, type: 'events', topics: `{ instrument-events: ${name} }` }));
  testInstallation(title, { simulator: { instruments: 30 }, source, kafka }, (t, at) =>
    body(t, {
      ...at,
      names,
      async writesOn(name) {
        const written = async () => (await at.read(name)).length;
        const before = await written();
        const goOn = () => {
          at.simulator.change(2);
          return written();
        };
        await eventually(`${name} writes on`, goOn, (now) => now > before);
      },
    }),
  );
}

/** Names of sources of events whose offsets lie on one partition. */
export function namesOnOnePartition(count: number): string[] {
  const names: string[] = [];
  for (let tried = 0; names.length < count; tried++) {
    const name = `source-${tried}`;
    if (offsetPartition(offsetKey(name, 'events')) === PARTITION) names.push(name);
  }
  return names;
}
