const DAY_MS = 86_400_000;
const FIRST_DAY_MS = Date.UTC(2018, 0, 1);
const DAYS = 10_000;

/** Consecutive dates as text, made once. A new text for each field would take most of the time that a page needs. */
export type Calendar = readonly string[];

export function createCalendar(): Calendar {
  return Array.from({ length: DAYS }, (_, day) => dayText(FIRST_DAY_MS + day * DAY_MS));
}

export function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** `YYYY-MM-DD HH:MM:SS`, the form without a zone in instrument data (part 2 of src/provider/README.md). */
export function dateTimeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
