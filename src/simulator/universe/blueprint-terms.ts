import { adjustedDecimal, changingDecimal, day, decimalSlot, quotient, scientific } from './number-slots.ts';
import { type Node, type Slot, sometimes, verbatim } from './text-template.ts';
import type { UnderlyingEntry } from './vocabulary.ts';

/** One observed level of an underlying: what is watched, how, and against which percentage of the start. */
export interface MonitorPlan {
  readonly type: 'barrier' | 'strike' | 'redemption' | 'coupon';
  readonly monitoringType: 'continuous' | 'atexpiry' | 'atclose';
  readonly comparatorType: 'above' | 'atorabove' | 'below' | 'atorbelow';
  readonly percentage: string | null;
  readonly fromDay: number;
  readonly toDay: number | null;
}

/** The underlying at place `at` of a product; salts 400 to 999 belong to underlyings. */
export function underlying(entry: UnderlyingEntry, at: number, monitors: readonly MonitorPlan[], plan: number): Node {
  const salt = 400 + at * 90;
  const ratios: readonly (Slot | Node)[] = [
    verbatim('1'),
    verbatim('1.00'),
    adjustedDecimal(salt + 1, 0, 4, 6),
    quotient(salt + 1),
    verbatim('1e0'),
    adjustedDecimal(salt + 1, 1, 9, 18),
  ];
  const negativeDelta: Slot = (draw) => `-0.${draw.digits(salt + 5 + draw.version.dataChanges * 7, 17)}1`;
  return {
    isin: entry.isin,
    vendorKey: entry.vendorKey,
    currency: entry.currency,
    name: verbatim(entry.nameText),
    delta: plan % 5 === 4 ? null : plan % 2 === 0 ? negativeDelta : changingDecimal(salt + 5, 0, 1, 18),
    leverageFactor: plan % 3 === 0 ? null : changingDecimal(salt + 7, 1, 12, 4),
    spotReference: decimalSlot(salt + 9, entry.price, Math.ceil(entry.price / 5), plan % 4 === 0 ? 18 : 4),
    ratio: ratios[plan % ratios.length] ?? null,
    barrierReachedTime: sometimes((draw) => {
      const breached = draw.version.breachedAt[at];
      return breached === undefined ? null : `"${breached}"`;
    }),
    monitors: monitors.map((monitor, index) => ({
      type: monitor.type,
      monitoringType: monitor.monitoringType,
      comparatorType: monitor.comparatorType,
      startDate: day(monitor.fromDay),
      endDate: monitor.toDay === null ? null : day(monitor.toDay),
      level: adjustedDecimal(salt + 20 + index * 4, Math.ceil(entry.price / 2), entry.price, index % 2 === 0 ? 18 : 2),
      percentage: monitor.percentage === null ? null : verbatim(monitor.percentage),
    })),
  };
}

/** Coupons at equal distances; those that were paid carry what was paid. Salts 1000 and on. */
export function coupons(count: number, everyDays: number, conditional: boolean): Node {
  return Array.from({ length: count }, (_, at): Node => {
    const amount: Slot = (draw) =>
      `${2 + draw.below(1_000 + at, 40)}.${draw.digits(1_100 + at, at % 3 === 0 ? 18 : 2)}`;
    return {
      startDate: day(at * everyDays + 7),
      endDate: day((at + 1) * everyDays + 7),
      valueDate: day((at + 1) * everyDays + 14),
      amount: at === 1 ? scientific(1_200) : amount,
      amountPaid: sometimes((draw) => (draw.version.couponsPaid > at ? (amount(draw) as string) : null)),
      numberOfCouponsPaid: sometimes((draw) => (draw.version.couponsPaid > at ? (conditional ? '1.0' : '1') : null)),
    };
  });
}

/** The repayment at the end of the term; what was disbursed is known once it has taken place. Salts 1300 and on. */
export function repayment(currency: string, termDays: number, delivered: UnderlyingEntry | undefined): Node {
  const rate: Slot = (draw) => `${60 + draw.below(1_300, 90)}.${draw.digits(1_301, 18)}`;
  return {
    valueDate: (draw) => `"${draw.version.repaidOn ?? draw.date(termDays + 7)}"`,
    currency,
    cashAmount: sometimes((draw) => (draw.version.repaidOn === null ? null : `${900 + draw.below(1_302, 200)}.50`)),
    repaymentRate: sometimes((draw) => (draw.version.repaidOn === null ? null : rate(draw))),
    disbursedISIN: delivered?.isin ?? null,
    disbursedAmount: delivered === undefined ? null : decimalSlot(1_304, 0, 9, 6),
  };
}
