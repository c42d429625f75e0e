import type { Events } from '../../../src/observe/events.ts';

export interface RecordedEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at the fields of whichever event they wait for.
  readonly fields: any;
}

/** Events that are only remembered, in the order they came. */
export function recordedEvents(onEvent: () => void = () => {}): { events: Events; seen: RecordedEvent[] } {
  const seen: RecordedEvent[] = [];
  const events = new Proxy({} as Events, {
    get: (_, name) => (fields: unknown) => {
      seen.push({ name: String(name), fields });
      onEvent();
    },
  });
  return { events, seen };
}
