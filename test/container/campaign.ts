const MAXIMUM_WORDS = 6_000;

export type Campaign = ReturnType<typeof createCampaign>;

class StepFailed extends Error {}

/**
 * A row of steps; each is reported by its outcome, with the time that it took.
 *
 * @param signal ends it before the next step
 */
export function createCampaign(nowMs: () => number, say: (line: string) => void, signal: AbortSignal) {
  let [passed, failed] = [0, 0];
  const startedMs = nowMs();
  const seconds = (sinceMs: number) => `${((nowMs() - sinceMs) / 1000).toFixed(1)} s`;
  return {
    /** Runs one step, and reports the text that it returns. When it fails, the rest of its part is left out. */
    async step(outcome: string, body: () => Promise<unknown>) {
      signal.throwIfAborted();
      const stepMs = nowMs();
      try {
        const more = await body();
        passed += 1;
        say(`✔ ${outcome}${typeof more === 'string' ? `: ${more}` : ''} (${seconds(stepMs)})`);
      } catch (error) {
        failed += 1;
        const words = error instanceof Error ? error.message : String(error);
        say(`✖ ${outcome} (${seconds(stepMs)})\n${words.slice(-MAXIMUM_WORDS).replace(/^/gm, '    ')}`);
        throw new StepFailed(outcome);
      }
    },
    /** Runs the steps of a part; a failure ends this part, not the others. */
    async part(name: string, body: () => Promise<void>) {
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
