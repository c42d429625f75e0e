const MAXIMUM_WORDS = 6_000;

/** A row of steps; each is reported by its outcome, with the time that it took. */
export interface Campaign {
  /** Runs one step. When it fails, the rest of its part is left out. */
  step(outcome: string, body: () => Promise<string | undefined>): Promise<void>;
  /** Runs the steps of a part; a failure ends this part, not the others. */
  part(name: string, body: () => Promise<void>): Promise<void>;
  failures(): number;
  report(): string;
}

class StepFailed extends Error {}

/** @param signal ends it before the next step */
export function createCampaign(nowMs: () => number, say: (line: string) => void, signal: AbortSignal): Campaign {
  let [passed, failed] = [0, 0];
  const startedMs = nowMs();
  const seconds = (sinceMs: number) => `${((nowMs() - sinceMs) / 1000).toFixed(1)} s`;
  return {
    async step(outcome, body) {
      signal.throwIfAborted();
      const stepMs = nowMs();
      try {
        const more = await body();
        passed += 1;
        say(`✔ ${outcome}${more === undefined ? '' : `: ${more}`} (${seconds(stepMs)})`);
      } catch (error) {
        failed += 1;
        const words = error instanceof Error ? error.message : String(error);
        say(`✖ ${outcome} (${seconds(stepMs)})\n${words.slice(-MAXIMUM_WORDS).replace(/^/gm, '    ')}`);
        throw new StepFailed(outcome);
      }
    },
    async part(name, body) {
      say(`\n${name}`);
      try {
        await body();
      } catch (error) {
        if (!(error instanceof StepFailed)) throw error;
        say('  the rest of this part was left out');
      }
    },
    failures: () => failed,
    report: () => `\n${passed} passed, ${failed} failed, after ${seconds(startedMs)}\n`,
  };
}
