/** Something that needs registered schemas, made when it is first asked for; a failure is asked again. */
export function registeredOnce<Made>(
  make: (signal: AbortSignal) => Promise<Made>,
): (signal: AbortSignal) => Promise<Made> {
  let made: { readonly value: Made } | null = null;
  return async (signal) => {
    made ??= { value: await make(signal) };
    return made.value;
  };
}
