/** Something that needs registered schemas, made when it is first asked for; a failure is asked again. */
export function registeredOnce<Made>(
  make: (signal: AbortSignal) => Promise<Made>,
  onRegistered: () => void,
): (signal: AbortSignal) => Promise<Made> {
  const made: { readonly value: Made }[] = [];
  return async (signal) => {
    const value = made[0]?.value ?? (await make(signal));
    // Of two calls at once, the first to be ready has it for both.
    if (made.length === 0) {
      made.push({ value });
      onRegistered();
    }
    return made[0]?.value ?? value;
  };
}
