import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KeyedContent, type UniverseLog, universeViolations } from './universe-log.ts';

const at = (key: string, content: string | null): KeyedContent => ({ key, content });

/** Two instruments that changed, one that vanished; walked once, followed, and swept. */
const right: UniverseLog = {
  versions: new Map([
    ['1', ['1a', '1b', '1c']],
    ['2', ['2a', '2b']],
    ['3', ['3a']],
  ]),
  universe: new Map([
    ['1', '1c'],
    ['2', '2b'],
  ]),
  published: [at('1', 'e1b'), at('2', 'e2b'), at('1', 'e1c')],
  instruments: [at('1', '1a'), at('3', '3a'), at('1', '1b'), at('2', '2b'), at('1', '1c'), at('3', null)],
  events: [at('1', 'e1b'), at('2', 'e2b'), at('1', 'e1c')],
};

test('a right log has no violations', () => {
  assert.deepEqual(universeViolations(right), []);
});

const without = (records: readonly KeyedContent[], index: number) =>
  records.filter((_, position) => position !== index);

const damages: Record<string, Partial<UniverseLog>> = {
  'a missing instrument': { instruments: without(right.instruments, 3) },
  'a lost change': { instruments: without(right.instruments, 4) },
  'a step back in time': { instruments: [...right.instruments, at('1', '1b'), at('1', '1c')] },
  'a stale row at the end': { instruments: [...right.instruments, at('1', '1b')] },
  'a ghost': { instruments: without(right.instruments, 5) },
  'a tombstone on a live instrument': { instruments: [...right.instruments, at('2', null)] },
  'a content that never was': { instruments: [at('1', 'invented'), ...right.instruments] },
  'a dropped event': { events: without(right.events, 1) },
  'a doubled event': { events: [...right.events, at('2', 'e2b')] },
  'swapped events': { events: [at('1', 'e1c'), at('2', 'e2b'), at('1', 'e1b')] },
  'an event that was never published': { events: [...right.events, at('9', 'e9a')] },
};

for (const [what, damage] of Object.entries(damages)) {
  test(`the checker of universes sees ${what}`, () => {
    assert.notDeepEqual(universeViolations({ ...right, ...damage }), []);
  });
}
