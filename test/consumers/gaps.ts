import { follow } from './records.ts';

// node --disable-warning=TimeoutNegativeWarning test/consumers/gaps.ts <brokers> <registry> <prefix>
const [brokers = '', registry = '', prefix = ''] = process.argv.slice(2);

const LOST = ['retention-gap', 'offset-reset', 'filter-changed', 'stream-skipped'];

// A group of its own that stays: each gap is reported once, or again where this program ended just then.
await follow({ brokers, registry, topic: `${prefix}.notifications`, group: `${prefix}-gaps` }, ({ key, value }) => {
  const at = (ms: unknown) => (ms === null ? 'an unknown time' : new Date(Number(ms)).toISOString());
  const { kind, gapFrom, gapTo, message } = value ?? {};
  // Instruments need nothing: a walk corrects them. Events of that time never come.
  if (LOST.includes(String(kind))) {
    console.log(`${key}: events are missing from ${at(gapFrom)} to ${at(gapTo)}: ${message}`);
  }
  if (kind === 'retention-gap-suspected') console.log(`${key}: events may be missing: ${message}`);
  if (kind === 'stream-reset') console.log(`${key}: events come again: ${message}`);
});
