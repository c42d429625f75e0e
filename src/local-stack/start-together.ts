/** Something that was started and can be ended. */
export interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Starts all at once. When one fails, the others are awaited and stopped before its error is thrown: no part that is still
 * starting may be left behind.
 */
export async function startTogether<T extends readonly Stoppable[]>(
  starts: {
    readonly [K in keyof T]: () => Promise<T[K]>;
  },
): Promise<T> {
  const results = await Promise.allSettled(starts.map((start) => start()));
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (!failure) return started as unknown as T;
  await Promise.allSettled(started.map((part) => part?.stop()));
  throw failure.reason;
}
