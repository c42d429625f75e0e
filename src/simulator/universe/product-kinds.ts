import type { MonitorPlan } from './blueprint-terms.ts';

/** A category of the market's product map, with what its instruments have in common. */
export interface ProductKind {
  readonly name: string;
  readonly symbol: string;
  /** The category number of SSPA and EUSIPA. */
  readonly sspa: string;
  readonly cfi: string;
  readonly priceType: 'unit' | 'percentage';
  readonly exerciseType: 'american' | 'european' | null;
  readonly direction: 'long' | 'short' | 'both';
  readonly underlyings: number;
  /** Days from issue to final fixing; null for open-end products. */
  readonly termDays: number | null;
  readonly coupons: number;
  readonly conditionalCoupons: boolean;
  /** Some variants deliver the underlying instead of cash. */
  readonly delivers: boolean;
  /** 1 to 7. */
  readonly risk: number;
  readonly monitors: readonly MonitorPlan[];
}

function monitor(
  type: MonitorPlan['type'],
  monitoringType: MonitorPlan['monitoringType'],
  comparatorType: MonitorPlan['comparatorType'],
  percentage: string | null,
  toDay: number | null,
  fromDay = 0,
): MonitorPlan {
  return { type, monitoringType, comparatorType, percentage, fromDay, toDay };
}

export const PRODUCT_KINDS: readonly ProductKind[] = [
  {
    name: 'Barrier Reverse Convertible',
    symbol: 'BR',
    sspa: '1230',
    cfi: 'DMMXXB',
    priceType: 'percentage',
    exerciseType: 'european',
    direction: 'long',
    underlyings: 3,
    termDays: 365,
    coupons: 4,
    conditionalCoupons: false,
    delivers: true,
    risk: 5,
    monitors: [
      monitor('strike', 'atexpiry', 'below', '100', 365, 365),
      monitor('barrier', 'continuous', 'atorbelow', '59.5', 365),
    ],
  },
  {
    name: 'Autocallable with Memory Coupon',
    symbol: 'AC',
    sspa: '1260',
    cfi: 'DEMXXA',
    priceType: 'percentage',
    exerciseType: 'european',
    direction: 'long',
    underlyings: 3,
    termDays: 730,
    coupons: 8,
    conditionalCoupons: true,
    delivers: true,
    risk: 6,
    monitors: [
      monitor('redemption', 'atclose', 'atorabove', '100.00', 640, 180),
      monitor('coupon', 'atclose', 'above', '65.0', 730),
      monitor('barrier', 'atexpiry', 'below', '54.999999999999999999', 730, 730),
    ],
  },
  {
    name: 'Tracker Certificate',
    symbol: 'TR',
    sspa: '1300',
    cfi: 'DETXXC',
    priceType: 'unit',
    exerciseType: null,
    direction: 'both',
    underlyings: 8,
    termDays: null,
    coupons: 0,
    conditionalCoupons: false,
    delivers: false,
    risk: 4,
    monitors: [monitor('redemption', 'atclose', 'above', null, null)],
  },
  {
    name: 'Warrant',
    symbol: 'WA',
    sspa: '2100',
    cfi: 'RWSTCA',
    priceType: 'unit',
    exerciseType: 'american',
    direction: 'both',
    underlyings: 1,
    termDays: 270,
    coupons: 0,
    conditionalCoupons: false,
    delivers: false,
    risk: 7,
    monitors: [monitor('strike', 'atexpiry', 'above', '1.10e2', 270, 270)],
  },
  {
    name: 'Mini-Future',
    symbol: 'MF',
    sspa: '2210',
    cfi: 'RFSTCA',
    priceType: 'unit',
    exerciseType: 'american',
    direction: 'both',
    underlyings: 1,
    termDays: null,
    coupons: 0,
    conditionalCoupons: false,
    delivers: false,
    risk: 7,
    monitors: [
      monitor('strike', 'continuous', 'below', '82.25', null),
      monitor('barrier', 'continuous', 'atorbelow', '85', null),
    ],
  },
  {
    name: 'Capital Protection Certificate',
    symbol: 'CP',
    sspa: '1100',
    cfi: 'DECXXF',
    priceType: 'percentage',
    exerciseType: 'european',
    direction: 'long',
    underlyings: 2,
    termDays: 1_825,
    coupons: 5,
    conditionalCoupons: false,
    delivers: false,
    risk: 2,
    monitors: [monitor('strike', 'atexpiry', 'above', '100', 1_825, 1_825)],
  },
  {
    name: 'Bonus Certificate',
    symbol: 'BO',
    sspa: '1320',
    cfi: 'DEEXXB',
    priceType: 'unit',
    exerciseType: 'european',
    direction: 'short',
    underlyings: 2,
    termDays: 540,
    coupons: 0,
    conditionalCoupons: false,
    delivers: true,
    risk: 6,
    monitors: [
      monitor('barrier', 'continuous', 'atorabove', '135.5', 540),
      monitor('strike', 'atexpiry', 'atorabove', '100', 540, 540),
    ],
  },
];
