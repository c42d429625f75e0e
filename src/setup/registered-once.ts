/** Something that needs registered schemas, made when it is first asked for; a failure is asked again. */
export function registeredOnce<Made>(
  make: (signal: AbortSignal) => Promise<Made>,
  onRegistered: () => void,
): (signal: AbortSignal) => Promise<Made> {
  let made: { readonly value: Made } | null = null;
  return async (signal) => {
    if (made !== null) return made.value;
    made = { value: await make(signal) };
    onRegistered();
    return made.value;
  };
}
