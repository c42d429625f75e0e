import { setTimeout as pause } from 'node:timers/promises';

/** Tries until nothing is thrown, and throws the last error when the limit has passed. */
export async function eventually<T>(attempt: () => Promise<T>, limitMs: number): Promise<T> {
  const deadline = AbortSignal.timeout(limitMs);
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (deadline.aborted) throw error;
      await pause(500);
    }
  }
}

export async function getJson<T>(url: string): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as T;
}
