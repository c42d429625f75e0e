import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 25;

/** Asks again until the answer satisfies, and fails with `what` and the last answer when `withinMs` is over. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer> | Answer,
  satisfies: (answer: Answer) => boolean,
  withinMs = 300_000,
): Promise<Answer> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (satisfies(answer)) return answer;
    if (performance.now() > deadline) {
      throw new Error(`Not within ${withinMs} ms: ${what}. Last: ${JSON.stringify(answer, bigintAsText)}`);
    }
    await sleep(POLL_MS);
  }
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** How a promise ended, as a value. */
export async function outcomeOf<Value>(promise: Promise<Value>): Promise<{ value: Value } | { error: Error }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}
