import type { EventItem, EventsCommitted } from '../observability/connector-events.ts';

const LONGEST_NAME = 60;
/** What a reader of the demo wants to see; data changes are many and say little. */
const SHOWN: Readonly<Record<string, string>> = {
  newissue: 'new issue',
  barriercross: 'barrier breach',
  repayment: 'repayment',
  couponpayment: 'coupon',
};

/** One line for each event of note: what happened, to which product. */
export function eventLines({ items }: Pick<EventsCommitted, 'items'>): string[] {
  return items.flatMap((item) => {
    const what = SHOWN[item.type ?? ''];
    return what === undefined ? [] : [`  ${what.padEnd(14)} ${(item.isin ?? '(no isin)').padEnd(12)} ${nameOf(item)}`];
  });
}

function nameOf({ name, id }: EventItem): string {
  if (name === null) return `instrument ${id}`;
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}
