import type { InstrumentText } from '../universe/instrument-text.ts';
import { keyIn, type TextForm } from '../universe/text-template.ts';
import type { LogEntry } from './event-log.ts';
import { parseLossless, reshape, stringifyLossless } from './lossless-json.ts';

/**
 * Writes an entry of the log as the envelope in which it is served (part 2.2 of src/provider/README.md, event
 * envelope).
 */
export interface EventText {
  write(entry: LogEntry): string;
}

export function createEventText(text: InstrumentText, form: TextForm): EventText {
  const key = (name: string) => JSON.stringify(keyIn(form, name));
  // Events of the list say null for a missing repayment or coupon; the standalone form leaves them out.
  const standalone = form.absent === 'omit' && form.casing === 'capitalised';
  const member = (name: string, value: string | null) => {
    if (value === null) return standalone ? '' : `,${key(name)}:null`;
    return `,${key(name)}:${form.casing === 'lower' ? value : stringifyLossless(reshape(parseLossless(value), form))}`;
  };
  return {
    write(entry) {
      if (entry.raw !== null) return entry.raw;
      const { type, repayment, coupon } = entry;
      const event = `${key('type')}:${JSON.stringify(type)}${member('repayment', repayment)}${member('coupon', coupon)}`;
      return `{${key('event')}:{${event}},${key('instrument')}:${text.write(entry.id, entry.version, form)}}`;
    },
  };
}
