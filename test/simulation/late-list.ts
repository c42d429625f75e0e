import type { InstrumentsCore } from '../../src/sources/walk/instruments-core.ts';
import type { CoreAnswer, CoreRequest } from '../../src/sources/walk/instruments-messages.ts';

const OF_LIST: readonly CoreRequest['kind'][] = ['start', 'page', 'behindLast'];

/** A list whose responses are used only after some more requests to the stream, as where it takes long. */
export class LateList {
  readonly #steps: number;
  #late: {
    readonly answer: CoreAnswer;
    readonly phase: InstrumentsCore['phase'];
    readonly walk: number | undefined;
    stepsLeft: number;
  } | null = null;

  /** `steps`: how many such requests; 0: its response is used at once. */
  constructor(steps: number) {
    this.#steps = steps;
  }

  freeMs(nowMs: number): number {
    return this.#late === null ? nowMs : Number.POSITIVE_INFINITY;
  }

  /** @returns what is left of a wait: it ends as soon as the list has responded. */
  waitMs(ms: number): number {
    if (this.#late === null) return ms;
    this.#late.stepsLeft = 0;
    return 0;
  }

  /** @returns the response if it is used at once. */
  put({ kind }: CoreRequest, answer: CoreAnswer, { phase, offset }: InstrumentsCore): CoreAnswer | null {
    if (this.#steps === 0 || !OF_LIST.includes(kind)) return answer;
    this.#late = { answer, phase, walk: offset?.walk, stepsLeft: this.#steps };
    return null;
  }

  /** The response once it has come; one of a walk that another has replaced is dropped. */
  take(core: InstrumentsCore): CoreAnswer | null {
    const late = this.#late;
    if (late === null || late.stepsLeft-- > 0) return null;
    this.#late = null;
    const isWanted = core.phase === late.phase && core.offset?.walk === late.walk;
    return late.answer.kind === 'start' || isWanted ? late.answer : null;
  }
}
