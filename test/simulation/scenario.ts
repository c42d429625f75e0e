import fc from 'fast-check';
import type { Fate } from './model-process.ts';
import type { AnswerFault, FailOver, ProviderTraits, Truncation } from './model-provider.ts';

/** What happens in a run, one after the other. */
export type Command =
  | {
      readonly kind: 'mutate';
      readonly what: 'change' | 'dead' | 'vanish' | 'announcedVanish' | 'hidden' | 'unreadable';
      readonly id: number;
      readonly times: number;
    }
  /** The source polls, pages, drains or commits: one request each. */
  | { readonly kind: 'step'; readonly times: number }
  /** What becomes of the next commit. */
  | { readonly kind: 'crash'; readonly fate: Fate }
  | { readonly kind: 'restart' }
  | { readonly kind: 'zombie'; readonly steps: number }
  /** The process stands still meanwhile. */
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'run'; readonly days: number }
  /** The process is away meanwhile. */
  | { readonly kind: 'expire'; readonly days: number }
  | { readonly kind: 'truncate'; readonly how: Truncation['kind'] | 'mend'; readonly kept: number }
  | { readonly kind: 'fault'; readonly on: 'events' | 'list'; readonly fault: AnswerFault }
  | { readonly kind: 'date'; readonly date: 'ahead' | 'behind' | 'absent' }
  | { readonly kind: 'reset' }
  /** The instruments topic is deleted and created again; the process notices that after some requests. */
  | { readonly kind: 'replaceTopic'; readonly steps: number }
  | ({ readonly kind: 'failOver'; readonly ms: number } & Omit<FailOver, 'fromMs' | 'untilMs'>)
  | { readonly kind: 'demand'; readonly allowShrink: number | null };

export interface Scenario {
  readonly traits: ProviderTraits;
  readonly prefetch: boolean;
  /** How many requests to the stream come before an answer of the list is used; it is waited for where this is absent. */
  readonly listSteps?: number;
  /** The poll interval; that of the model where it is absent. */
  readonly pollMs?: number;
  readonly commands: readonly Command[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A lag beyond the margin and an hour can be noticed only where pages name their own place in the stream. */
const listLag: fc.Arbitrary<Pick<ProviderTraits, 'listLagMs' | 'listStart'>> = fc.oneof(
  fc.record({
    listLagMs: fc.constantFrom(0, 0, 2_000, 4_900, 10_000, 60_000, HOUR_MS),
    listStart: fc.constantFrom<ProviderTraits['listStart'][]>('newest', 'ofPage', 'absent'),
  }),
  fc.record({ listLagMs: fc.constantFrom(3 * HOUR_MS, 20 * HOUR_MS), listStart: fc.constant('ofPage' as const) }),
);

const otherTraits: fc.Arbitrary<Omit<ProviderTraits, 'listLagMs' | 'listStart'>> = fc.record({
  seed: fc.nat(),
  instruments: fc.nat(8),
  limit: fc.integer({ min: 1, max: 4 }),
  maxEvents: fc.integer({ min: 1, max: 3 }),
  nextIdOf: fc.constantFrom('log', 'answer'),
  scanLimit: fc.constantFrom(0, 0, 1, 2),
  movesOverHidden: fc.constantFrom(true, true, false),
  streamLagMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 10 * 60_000, 3 * HOUR_MS, 20 * HOUR_MS),
  walkIntervalMs: fc.constantFrom(HOUR_MS, 24 * HOUR_MS, 720 * HOUR_MS),
  expired: fc.constantFrom<ProviderTraits['expired'][]>('empty', 'emptyNewest', 'oldest', 400, 404, 410),
  minIdMode: fc.constantFrom('next', 'overlapping', 'exclusive'),
});

const traits: fc.Arbitrary<ProviderTraits> = fc
  .tuple(otherTraits, listLag)
  .map(([other, lag]) => ({ ...other, ...lag }));

const eventFault = fc.constantFrom<AnswerFault[]>('failed', 'lower', 'stuck', 'refused');
const listFault = fc.constantFrom<AnswerFault[]>(
  'failed',
  'unreadableId',
  'belowCursor',
  'descending',
  'absentLink',
  'loop',
  'loop',
  'empty',
);

const step = (most: number): fc.Arbitrary<Command> =>
  fc.record({ kind: fc.constant('step'), times: fc.integer({ min: 1, max: most }) });

const mutate = (...what: Extract<Command, { kind: 'mutate' }>['what'][]): fc.Arbitrary<Command> =>
  fc.record({
    kind: fc.constant('mutate'),
    what: fc.constantFrom(...what),
    id: fc.nat(12),
    times: fc.integer({ min: 1, max: 3 }),
  });

const restart: fc.Arbitrary<Command> = fc.record({ kind: fc.constant('restart') });
const run: fc.Arbitrary<Command> = fc.record({ kind: fc.constant('run'), days: fc.constantFrom(1, 8) });
const expire: fc.Arbitrary<Command> = fc.record({ kind: fc.constant('expire'), days: fc.constantFrom(1, 8) });
const reset: fc.Arbitrary<Command> = fc.record({ kind: fc.constant('reset') });
const truncate: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('truncate'),
  how: fc.constantFrom<(Truncation['kind'] | 'mend')[]>('soft', 'hard', 'mend'),
  kept: fc.nat(5),
});
const demand: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('demand'),
  allowShrink: fc.constantFrom(null, 3),
});
const date: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('date'),
  date: fc.constantFrom('ahead', 'behind', 'absent'),
});
const lostLink: Command = { kind: 'fault', on: 'list', fault: 'absentLink' };
const failedEvents: Command = { kind: 'fault', on: 'events', fault: 'failed' };
const unreadable: Command = { kind: 'fault', on: 'list', fault: 'unreadableId' };
const unreadableRow: fc.Arbitrary<Command> = fc.constant(unreadable);

/** What may happen besides changes and steps. A run gets a few of these, so that they meet often enough. */
const incidents: readonly fc.Arbitrary<Command>[] = [
  mutate('hidden'),
  mutate('vanish', 'announcedVanish'),
  mutate('vanish', 'change'),
  mutate('dead'),
  mutate('unreadable'),
  fc.record({
    kind: fc.constant('crash'),
    fate: fc.constantFrom<Fate[]>('lost', 'crashAfter', 'unansweredLost', 'unansweredCommitted'),
  }),
  restart,
  fc.record({ kind: fc.constant('zombie'), steps: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(1_000, 6_000, 31_000, 13 * HOUR_MS) }),
  run,
  expire,
  truncate,
  fc.record({ kind: fc.constant('fault'), on: fc.constant('events'), fault: eventFault }),
  fc.record({ kind: fc.constant('fault'), on: fc.constant('list'), fault: listFault }),
  fc.constant(lostLink),
  date,
  reset,
  demand,
];

/** Changes in every run, in steps of a run's own size, and a few kinds of incidents. */
const commands = fc
  .tuple(fc.subarray([...incidents], { maxLength: 5 }), fc.constantFrom(2, 12))
  .chain(([some, most]) =>
    fc.array(
      fc.oneof(
        { weight: 6, arbitrary: step(most) },
        { weight: 4, arbitrary: mutate('change') },
        ...some.map((arbitrary) => ({ weight: arbitrary === run ? 1 : 2, arbitrary })),
      ),
      { minLength: 4, maxLength: 40, size: 'max' },
    ),
  );

/** What belongs together and would meet too seldom: the list or the log goes wrong while instruments come and go. */
const comingAndGoing = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: step(3) },
    { weight: 4, arbitrary: mutate('vanish', 'change') },
    { weight: 1, arbitrary: fc.oneof(truncate, expire, reset, restart, demand, unreadableRow) },
  ),
  { minLength: 10, maxLength: 40, size: 'max' },
);

/** Long times in which little or nothing is for us, so that our offset stands still where the provider does not move it. */
const quietTimes = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step(3) },
    { weight: 4, arbitrary: mutate('hidden') },
    { weight: 2, arbitrary: fc.oneof(run, expire) },
    { weight: 1, arbitrary: fc.oneof(mutate('change'), restart, date) },
  ),
  { minLength: 10, maxLength: 30, size: 'max' },
);

/** Runs over up to eight instruments; their incidents begin in the first walk, or after it. */
export const scenarios: fc.Arbitrary<Scenario> = fc
  .record({
    traits,
    prefetch: fc.boolean(),
    before: fc.constantFrom(0, 0, 60),
    commands: fc.oneof(
      { weight: 8, arbitrary: commands },
      { weight: 4, arbitrary: comingAndGoing },
      { weight: 1, arbitrary: quietTimes },
    ),
  })
  .map(({ before, ...scenario }) => {
    // Offsets of a stream that began again say nothing about the pages of a list that shows the time before.
    const isOld = scenario.traits.listLagMs > HOUR_MS;
    const kept = scenario.commands.filter(({ kind }) => !isOld || kind !== 'reset');
    return { ...scenario, commands: before === 0 ? kept : [{ kind: 'step', times: before }, ...kept] };
  });

const steps = (times: number): Command => ({ kind: 'step', times });

/** A backlog in which much is filtered out, at a provider whose answers look at little: empty ones come in the middle. */
const filteredBacklog = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: step(2) },
      { weight: 3, arbitrary: mutate('hidden') },
      { weight: 3, arbitrary: mutate('change') },
    ),
    { minLength: 10, maxLength: 40, size: 'max' },
  )
  .map((given): readonly Command[] => [steps(60), { kind: 'demand', allowShrink: null }, ...given]);

/** An absence that is longer than events are kept, after an answer with a wrong date. */
const wrongDateBeforeAbsence = fc
  .tuple(date, fc.integer({ min: 1, max: 4 }), fc.boolean())
  .map(([wrong, times, isBack]): readonly Command[] => [
    steps(60),
    wrong,
    steps(times),
    { kind: 'mutate', what: 'change', id: 1, times: 1 },
    { kind: 'expire', days: 8 },
    { kind: 'restart' },
    ...(isBack ? [steps(3), { kind: 'mutate', what: 'change', id: 1, times: 1 } as const] : []),
  ]);

/** States that the runs above reach too seldom: each needs several things in one order. */
export const rareScenarios: fc.Arbitrary<Scenario> = fc.oneof(
  fc.record({
    traits: traits.map((given) => ({ ...given, scanLimit: 1, movesOverHidden: true, listLagMs: 0, streamLagMs: 0 })),
    prefetch: fc.boolean(),
    commands: filteredBacklog,
  }),
  fc.record({ traits, prefetch: fc.boolean(), commands: wrongDateBeforeAbsence }),
);

/** The same runs with a list that takes long, so that the stream goes on before its answers are used. */
export const slowLists: fc.Arbitrary<Scenario> = scenarios.map((scenario) => ({
  ...scenario,
  listSteps: 1 + (scenario.traits.seed % 4),
}));

/** Instruments that change twice in a moment, in the middle of a walk over many pages that are asked for ahead. */
const changesAmidPages = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: step(2).map((one): readonly Command[] => [one]) },
      { weight: 2, arbitrary: mutate('change').map((one): readonly Command[] => [one, one]) },
      { weight: 1, arbitrary: fc.constantFrom<Command[][]>([unreadable, steps(1)], [lostLink], [failedEvents]) },
    ),
    { minLength: 10, maxLength: 40, size: 'max' },
  )
  .map((given): readonly Command[] => [steps(60), { kind: 'demand', allowShrink: null }, steps(6), ...given.flat()]);

export const busyWalks: fc.Arbitrary<Scenario> = fc
  .record({
    traits: traits.map((given) => {
      // Where responses take long, the events of a moment take minutes to read.
      const streamTakesMs = given.seed % 2 === 0 ? 12_000 : 0;
      return { ...given, instruments: 8, limit: 1, scanLimit: 0, listLagMs: 0, streamLagMs: 0, streamTakesMs };
    }),
    prefetch: fc.constant(true),
    commands: changesAmidPages,
  })
  .map((scenario) => ({ ...scenario, listSteps: scenario.traits.seed % 3 }));

const replaceTopic: fc.Arbitrary<Command> = fc.record({ kind: fc.constant('replaceTopic'), steps: fc.nat(6) });

/** The usual runs, in the middle of which the instruments topic is deleted and created again. */
export const replacedTopics: fc.Arbitrary<Scenario> = fc
  .tuple(scenarios, replaceTopic, fc.nat(40))
  .map(([scenario, replaced, at]) => ({ ...scenario, commands: scenario.commands.toSpliced(at, 0, replaced) }));

/** A replica answers that is behind, for minutes or hours; meanwhile the source polls, walks and starts again. */
const BEYOND = ['echo', 'named', 'back', 400, 404] as const;
const failOver: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('failOver'),
  ms: fc.constantFrom(MINUTE_MS, 6 * MINUTE_MS, 40 * MINUTE_MS, 3 * HOUR_MS, 9 * HOUR_MS),
  lagMs: fc.constantFrom(0, MINUTE_MS, 30 * MINUTE_MS, 3 * HOUR_MS, 20 * HOUR_MS),
  isFrozen: fc.boolean(),
  beyond: fc.constantFrom<FailOver['beyond'][]>(...BEYOND),
  listIsCurrent: fc.constant(false),
});
const failOvers = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: step(12) },
      { weight: 3, arbitrary: mutate('change') },
      { weight: 2, arbitrary: failOver },
      { weight: 1, arbitrary: fc.oneof(restart, demand, mutate('vanish', 'announcedVanish', 'hidden')) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('run'), days: fc.constantFrom(1 / 240, 1 / 24, 1 / 6) }) },
    ),
    { minLength: 10, maxLength: 40, size: 'max' },
  )
  .map((given): readonly Command[] => [steps(60), ...given]);

/** The log alone of a replica is behind, for minutes, and stands still. Beside an echo nothing would show it. */
const logBehind: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('failOver'),
  ms: fc.constant(6 * MINUTE_MS),
  lagMs: fc.constantFrom(MINUTE_MS, 30 * MINUTE_MS),
  isFrozen: fc.constant(true),
  beyond: fc.constantFrom<FailOver['beyond'][]>(...BEYOND.slice(1)),
  listIsCurrent: fc.constant(true),
});
const logsBehind = fc
  .tuple(
    fc.array(fc.oneof(step(2), mutate('change')), { minLength: 4, maxLength: 12 }),
    logBehind,
    fc.array(fc.oneof(step(3), mutate('change'), fc.oneof(demand, restart)), {
      minLength: 8,
      maxLength: 30,
      size: 'max',
    }),
  )
  .map(([before, one, after]): readonly Command[] => [steps(60), ...before, steps(1), one, ...after]);

const ofReplicas = (commands: fc.Arbitrary<readonly Command[]>): fc.Arbitrary<Scenario> =>
  fc.record({
    // Only by its links.events is a page known that is older than is remembered.
    traits: traits.map((given) => {
      const list = given.listStart === 'ofPage' ? {} : ({ listStart: 'newest', listLagMs: 0 } as const);
      return { ...given, ...list, streamLagMs: 0 };
    }),
    prefetch: fc.boolean(),
    pollMs: fc.constantFrom(MINUTE_MS, 10 * MINUTE_MS),
    commands,
  });

export const replicasBehind = ofReplicas(failOvers);
export const onlyLogsBehind = ofReplicas(logsBehind);
