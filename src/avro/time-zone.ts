/** The zone of instants that are sent without one, because the settings name it. */
export interface AssumedZone {
  /** How far the zone was ahead of UTC when its clocks showed this, given in milliseconds as if they showed UTC. */
  offsetMs(localMs: number): number;
}

const DAY_MS = 86_400_000;
// Clocks change only at full quarters of an hour.
const SLOT_MS = 900_000;
const MOST_SLOTS = 4_096;

/**
 * @param name of a time zone, such as UTC or Europe/Zurich. In the hour that clocks show twice the first one counts; a
 *   time that they skip is counted with the offset from before the change.
 * @throws RangeError for an unknown name; the settings have been checked
 */
export function createAssumedZone(name: string): AssumedZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    era: 'short',
  });
  const known = new Map<number, number>();

  function offsetAt(utcMs: number): number {
    const parts = new Map(format.formatToParts(utcMs).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
    const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year');
    const shown = new Date(0);
    shown.setUTCFullYear(year, part('month') - 1, part('day'));
    shown.setUTCHours(part('hour'), part('minute'), part('second'));
    return shown.getTime() - Math.floor(utcMs / 1_000) * 1_000;
  }

  function find(localMs: number): number {
    const before = offsetAt(localMs - DAY_MS);
    const after = offsetAt(localMs + DAY_MS);
    return offsetAt(localMs - before) !== before && offsetAt(localMs - after) === after ? after : before;
  }

  return {
    offsetMs(localMs) {
      const slot = Math.floor(localMs / SLOT_MS);
      let offset = known.get(slot);
      if (offset === undefined) {
        if (known.size >= MOST_SLOTS) known.clear();
        offset = find(slot * SLOT_MS);
        known.set(slot, offset);
      }
      return offset;
    },
  };
}
