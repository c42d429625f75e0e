import { randomUUID } from 'node:crypto';
import { type Fields, follow } from './records.ts';

// node --disable-warning=TimeoutNegativeWarning test/consumers/no-price.ts <brokers> <registry> <prefix>
const [brokers = '', registry = '', prefix = ''] = process.argv.slice(2);

await follow(
  { brokers, registry, topic: `${prefix}.prices`, group: `no-price-${randomUUID()}` },
  ({ key, value, header }) => {
    if (value !== null) {
      const { bid, ask } = (value.lastPrice ?? {}) as Fields;
      console.log(`${key} costs ${ask ?? 'not known'}, gives ${bid ?? 'not known'}`);
      return;
    }
    // From now on there is none: the price that is shown is wrong, and must go.
    const problem = header('spc-problem');
    console.log(`${key} has no price: ${header('spc-reason')}${problem === undefined ? '' : ` (${problem})`}`);
  },
);
