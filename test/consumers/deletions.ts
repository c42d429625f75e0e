import { randomUUID } from 'node:crypto';
import { follow } from './records.ts';

// node --disable-warning=TimeoutNegativeWarning test/consumers/deletions.ts <brokers> <registry> <prefix>
const [brokers = '', registry = '', prefix = ''] = process.argv.slice(2);

// In memory, and so read from the beginning at each start: an instrument whose tombstone has been compacted away
// meanwhile is not in it either.
const names = new Map<string, unknown>();

await follow(
  { brokers, registry, topic: `${prefix}.instruments`, group: `deletions-${randomUUID()}` },
  ({ key, value, header }) => {
    if (value !== null) {
      names.set(key, value.name);
      return;
    }
    const why = header('spc-event-type') ?? `walk ${header('spc-walk')}`;
    if (names.delete(key)) console.log(`${key} is gone: ${why}`);
  },
);
