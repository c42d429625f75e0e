import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CoreModules } from './model-core.ts';

/** One wrong variant of the core: an edit of its source. */
export interface CoreMutant {
  readonly mistake: string;
  readonly file: string;
  readonly right: string;
  readonly wrong: string;
}

const SOURCES = resolve(import.meta.dirname, '../../src');

/** Loads parts of a copy of some rooms with the mistake in it; the copy is removed at once. An edit that does not fit fails. */
export async function withMistake<Parts>(
  { mistake, file, right, wrong }: CoreMutant,
  rooms: readonly string[],
  parts: (load: ReturnType<typeof importFrom>) => Promise<Parts>,
): Promise<Parts> {
  const folder = mkdtempSync(join(tmpdir(), 'core-mutant-'));
  try {
    for (const room of rooms) cpSync(join(SOURCES, room), join(folder, basename(room)), { recursive: true });
    for (const name of globSync('*/*.ts', { cwd: folder })) {
      const text = readFileSync(join(folder, name), 'utf8');
      const pieces = basename(name) === file ? text.split(right) : [text];
      if (basename(name) === file && pieces.length !== 2) {
        throw new Error(`The mistake "${mistake}" fits ${pieces.length - 1} places of ${file}; it must fit one.`);
      }
      writeFileSync(join(folder, name), pieces.join(wrong).replaceAll("'../../", `'${pathToFileURL(SOURCES)}/`));
    }
    return await parts(importFrom(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function importFrom(folder: string) {
  return (name: string) => import(pathToFileURL(join(folder, name)).href);
}

export function loadMutant(mutant: CoreMutant): Promise<CoreModules> {
  return withMistake(mutant, ['sources/stream', 'sources/walk'], async (load) => {
    const { InstrumentsCore } = await load('walk/instruments-core.ts');
    const { Census } = await load('walk/census.ts');
    const { ReportedEvents } = await load('stream/reported-events.ts');
    const { readInstrumentsOffset, writeInstrumentsOffset } = await load('walk/instruments-offset.ts');
    return { InstrumentsCore, Census, ReportedEvents, readInstrumentsOffset, writeInstrumentsOffset };
  });
}

const NEVER = 'false && ';

/** Mistakes that the model must find; the first ones were each made by somebody. */
export const CORE_MUTANTS: readonly CoreMutant[] = [
  {
    mistake: 'a row wins over a newer event',
    file: 'page-rows.ts',
    right: "if (touched.has(id)) return 'touched';",
    wrong: '',
  },
  {
    mistake: 'touched begins after the margin',
    file: 'instruments-core.ts',
    right: 'for (const event of touches ?? [])',
    wrong: "if (state.walk.phase !== 'census' && state.walk.phase !== 'margin') for (const event of touches ?? [])",
  },
  {
    mistake: 'an answer that is not full is the end',
    file: 'stream.ts',
    right: "const namesEnd = stream.namesEnd || (goesOn && taken === 'moved');",
    wrong: 'const namesEnd = true;',
  },
  {
    mistake: 'a drain ends with an answer that is not full',
    file: 'walk.ts',
    right: 'hasReached(answer, namesEnd ? target : drain.start)',
    wrong: 'hasReached(answer, target ?? answer.next)',
  },
  {
    mistake: 'a page is not drained at all',
    file: 'walk-steps.ts',
    right: "walk: { ...walk, phase: 'draining', page: { minId, rows, next, start }, drain: beginDrain(nowMs) },",
    wrong:
      "walk: { ...walk, phase: 'draining', page: { minId, rows, next, start }, drain: { ...beginDrain(nowMs), isReached: true } },",
  },
  {
    mistake: 'a page is used after half a minute, whatever of the stream is still to be read',
    file: 'walk-steps.ts',
    right: 'return { walk: { ...walk, drain: drainFurther(walk.drain, streamed) } };',
    wrong:
      'const drain = drainFurther(walk.drain, streamed); return { walk: { ...walk, drain: { ...drain, isReached: drain.isReached || arguments[2].nowMs - drain.startedMs >= 30_000 } } };',
  },
  {
    mistake: 'the first page is asked for before the margin has passed',
    file: 'instruments-core.ts',
    right: "this.#settings = { ...settings, begins: 'atGivenStart' };",
    wrong: "this.#settings = { ...settings, begins: 'atGivenStart', handoffMarginMs: 0 };",
  },
  {
    mistake: 'census minus seen after a crash',
    file: 'walk.ts',
    right: 'offset: { ...offset, walkResumed: true } };',
    wrong: 'offset };',
  },
  {
    mistake: 'no commit on an empty answer',
    file: 'follower-steps.ts',
    right: 'const isEmptyCommit = taken !== null &&',
    wrong: `const isEmptyCommit = ${NEVER}taken !== null &&`,
  },
  {
    mistake: 'what events named since the walk began may be gone',
    file: 'sweep.ts',
    right: '.filter((id) => !touched.has(id) && isNamed',
    wrong: '.filter((id) => isNamed',
  },
  {
    mistake: 'a row that does not map is not seen',
    file: 'page-rows.ts',
    right: 'for (const { id } of rows) if (id !== null) census.see(id);',
    wrong: 'for (const { id, digest } of rows) if (id !== null && digest !== null) census.see(id);',
  },
  {
    mistake: 'a row without a readable id does not matter',
    file: 'page-rows.ts',
    right: "flaws.add('unreadableId');",
    wrong: '',
  },
  {
    mistake: 'the end of the list is not verified',
    file: 'walk-steps.ts',
    right: "if (![...walk.behind].every((id) => at.touched.has(id))) flaws.add('rowsBehindTheEnd');",
    wrong: '',
  },
  {
    mistake: 'no final drain',
    file: 'walk-steps.ts',
    right: "return { walk: { phase: 'closing', drain: beginDrain(nowMs), flaws, lastId, lag, asked, behind } };",
    wrong:
      "return { walk: { phase: 'closing', drain: { ...beginDrain(nowMs), isReached: true }, flaws, lastId, lag, asked, behind } };",
  },
  {
    mistake: 'a list may shrink as it likes',
    file: 'sweep.ts',
    right: 'return gone <= shrinkAlwaysAllowed ||',
    wrong: 'return gone >= 0 || gone <= shrinkAlwaysAllowed ||',
  },
  {
    mistake: 'nothing in answer to an offset in doubt ends a drain',
    file: 'instruments-core.ts',
    right: 'if (isOffsetInDoubt(doubt) || isProviderBehind(offset)) return state;',
    wrong: 'if (isProviderBehind(offset)) return state;',
  },
  {
    mistake: 'a page is used while the log is behind',
    file: 'instruments-core.ts',
    right: "if (answer.kind === 'refused' || reading === null) return state;",
    wrong:
      "if (isProviderBehind(offset)) return { ...state, walk: stepWalk(walk, { kind: 'streamed', answer: { next: offset.since, nextId: null }, " +
      "reading: 'quiet', namesEnd }, { ...at, offset }).walk };\n  if (answer.kind === 'refused' || reading === null) return state;",
  },
  {
    mistake: 'a row that contradicts what an event said lately is used all the same',
    file: 'page-rows.ts',
    right: "return census.reportedAgeMs(id) === null && !isOld ? outcome : 'contradicting';",
    wrong: "return isOld ? 'contradicting' : outcome;",
  },
  {
    mistake: 'a page that is older than all that is remembered corrects',
    file: 'page-rows.ts',
    right: "return census.reportedAgeMs(id) === null && !isOld ? outcome : 'contradicting';",
    wrong: "return census.reportedAgeMs(id) === null ? outcome : 'contradicting';",
  },
  {
    mistake: 'a list that lags is trusted to say what is gone',
    file: 'walk-steps.ts',
    right: "if (seen !== null) flaws.add('listLags');",
    wrong: '',
  },
  {
    mistake: 'unchanged rows are written again',
    file: 'page-rows.ts',
    right: "  same: 'unchanged',",
    wrong: "  same: 'corrected',",
  },
  {
    mistake: 'events under an unmoved cursor are taken',
    file: 'stream-response.ts',
    right: "return events > 0 ? 'stuck' : 'quiet';",
    wrong: "return events > 0 ? 'moved' : 'quiet';",
  },
  {
    mistake: 'a lower offset is followed',
    file: 'stream-response.ts',
    right: "< 0 ? 'lower' : 'moved';",
    wrong: "< 0 ? 'moved' : 'moved';",
  },
  {
    mistake: 'one refusal proves a gap',
    file: 'retention-gap.ts',
    right: 'if (firstMs !== null) return isRound && nowMs - firstMs >= gapProofMs;',
    wrong: 'if (firstMs !== null) return isRound;',
  },
  {
    mistake: 'an offset that stands still is never replaced',
    file: 'retention-gap.ts',
    right: 'isSuspected || ageMs >= UNMOVED_MS ?',
    wrong: `isSuspected || (${NEVER}ageMs >= UNMOVED_MS) ?`,
  },
  {
    mistake: 'a fresh offset replaces the committed one after gapProof',
    file: 'follower-steps.ts',
    right: '{ ...at.settings, nowMs: at.nowMs }',
    wrong:
      '{ ...at.settings, nowMs: at.nowMs, offsetHoldMs: Math.min(at.settings.gapProofMs, at.settings.offsetHoldMs) }',
  },
  {
    mistake: 'a drain ends at the first empty answer',
    file: 'walk.ts',
    right: "isReached: reading === 'quiet' ||",
    wrong: "isReached: reading === 'quiet' || answer.events?.length === 0 ||",
  },
  {
    mistake: 'a wrong date hides a gap',
    file: 'response-time.ts',
    right: 'mostMs: Math.max(0, byUs, byProvider)',
    wrong: 'mostMs: Math.max(0, byProvider)',
  },
  {
    mistake: 'an offset that is only suspected is given up after gapProof though the log lags',
    file: 'stream.ts',
    right: 'ages.leastAgeMs > RETENTION_MS ||',
    wrong: 'ages.leastAgeMs >= 0 ||',
  },
  {
    mistake: 'a suspicion is forgotten by a restart',
    file: 'committed-stream.ts',
    right: 'gapSuspectedFrom: gapSuspectedFromMs === null ?',
    wrong: 'gapSuspectedFrom: gapSuspectedFromMs !== 0 ?',
  },
  {
    mistake: 'a lower offset is adopted in haste',
    file: 'retention-gap.ts',
    right: 'return isRound && held.heldMs >= behindLimitMs;',
    wrong: 'return isRound && held.heldMs >= gapProofMs;',
  },
  {
    mistake: 'the time between two processes counts for a lower offset',
    file: 'stream.ts',
    right: 'if (behind(since, held)) return',
    wrong: `if (${NEVER}behind(since, held)) return`,
  },
  {
    mistake: 'a list that lags is taken for a provider that is behind',
    file: 'retention-gap.ts',
    right: "if (sign !== 'refused' && sign !== 'stuck') return",
    wrong: `if (${NEVER}sign !== 'stuck') return`,
  },
  {
    mistake: 'events that come again change instruments',
    file: 'follower-steps.ts',
    right: 'isAgain: writes && offset.again !== null,',
    wrong: `isAgain: ${NEVER}offset.again !== null,`,
  },
  {
    mistake: 'a walk deletes what a provider that is behind lacks',
    file: 'walk-steps.ts',
    right: "isOld && settings.tombstones ? { ...NOTHING_DECIDED, outcome: 'repeats' } :",
    wrong: '',
  },
  {
    mistake: 'a gap begins no walk',
    file: 'instruments-core.ts',
    right: 'if (reason !== null) after = replaceWalk(after, answer.time, at);',
    wrong: "if (reason !== null && !reason.startsWith('gap')) after = replaceWalk(after, answer.time, at);",
  },
  {
    mistake: 'a topic that was replaced begins no walk',
    file: 'instruments-core.ts',
    right: "if (isReplaced(state, at)) return 'topicReplaced';",
    wrong: '',
  },
  {
    mistake: 'the id of a replaced topic is not committed',
    file: 'instruments-core.ts',
    right: 'const topicId = at.topicId ?? state.offset.topicId;',
    wrong: 'const { topicId } = state.offset;',
  },
  {
    mistake: 'a walk that was resumed is not followed by a fresh one',
    file: 'walk-steps.ts',
    right: 'if (walkResumed) {',
    wrong: `if (${NEVER}walkResumed) {`,
  },
];
