import { digits } from './random.ts';
import type { Slot } from './text-template.ts';

/**
 * Numbers as decimal text. They are put together from digits and never from doubles, so that what is served is exactly
 * what the ledger says.
 */

/** A number from `low` up to, not including, `low + span`, with `fraction` digits after the point. */
export function decimalSlot(salt: number, low: number, span: number, fraction: number): Slot {
  return (draw) => `${low + draw.below(salt, span)}.${draw.digits(salt + 1, fraction)}`;
}

/** The same, but it moves with every data change. */
export function changingDecimal(salt: number, low: number, span: number, fraction: number): Slot {
  return (draw) => {
    const moved = salt + draw.version.dataChanges * 1_009;
    return `${low + draw.below(moved, span)}.${digits(draw.key, moved + 1, fraction)}`;
  };
}

/** The same, but it moves with every rule based parameter adjustment. */
export function adjustedDecimal(salt: number, low: number, span: number, fraction: number): Slot {
  return (draw) => {
    const moved = salt + draw.version.adjustments * 2_003;
    return `${low + draw.below(moved, span)}.${digits(draw.key, moved + 1, fraction)}`;
  };
}

/** A whole amount with two zeros after the point. */
export function wholeAmount(salt: number, low: number, span: number): Slot {
  return (draw) => `${low + draw.below(salt, span)}.00`;
}

/** A small number in scientific notation, as some serializers write them. */
export function scientific(salt: number): Slot {
  return (draw) => `${1 + draw.below(salt, 9)}.${draw.digits(salt + 1, 3)}E-${2 + draw.below(salt + 2, 6)}`;
}

/** A quotient with 28 digits after the point; its last digit is never zero. */
export function quotient(salt: number): Slot {
  return (draw) => `0.${draw.digits(salt, 27)}${1 + draw.below(salt + 1, 9)}`;
}

/** A quoted date so many days after the issue. */
export function day(daysAfterIssue: number): Slot {
  return (draw) => `"${draw.date(daysAfterIssue)}"`;
}

/** A quoted zone-less date-time so many days after the issue. */
export function time(daysAfterIssue: number, timeOfDay: string): Slot {
  return (draw) => `"${draw.date(daysAfterIssue)} ${timeOfDay}"`;
}
