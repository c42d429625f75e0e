import { distributions, documents, markets, parties } from './blueprint-parties.ts';
import { regulations } from './blueprint-regulations.ts';
import { coupons, type MonitorPlan, repayment, underlying } from './blueprint-terms.ts';
import { day, decimalSlot, time, wholeAmount } from './number-slots.ts';
import { PRODUCT_KINDS, type ProductKind } from './product-kinds.ts';
import { type Choices, createChoices } from './random.ts';
import { LIST_FORM, type Node, type NodeObject, type Slot, type TextForm } from './text-template.ts';
import { CURRENCIES, ISSUERS, UNDERLYINGS, type UnderlyingEntry } from './vocabulary.ts';

/** A family of instruments: the same terms and parties; ids, prices, levels and dates are drawn for each one. */
export interface Blueprint {
  readonly node: NodeObject;
  readonly underlyings: number;
  readonly coupons: number;
  /** ISO code, for events. */
  readonly currency: string;
}

/** Variants of each kind of product: other issuers, underlyings, currencies and terms. */
const VARIANTS = 4;
/** Beyond the term of a kind: what the simulated provider lists is not repaid for as long as anyone runs this. */
const LONGER_DAYS = 3_650;
/** The size of real instruments, in characters of list text; the lists of countries and documents fill up to it. */
const TARGET_CHARACTERS = 8_350;

/** All blueprints of a seed. `measure` gives the length of a node's text for a typical instrument. */
export function createBlueprints(seed: number, measure: (node: Node, form: TextForm) => number): readonly Blueprint[] {
  const choices = createChoices(seed);
  return PRODUCT_KINDS.flatMap((kind) =>
    Array.from({ length: VARIANTS }, (_, variant) => sized(kind, variant, choices, measure)),
  );
}

function sized(kind: ProductKind, variant: number, choices: Choices, measure: (node: Node, form: TextForm) => number) {
  const terms = drawTerms(kind, variant, choices);
  let [countries, papers] = [4, 3];
  let blueprint = build(kind, terms, countries, papers);
  while (measure(blueprint.node, LIST_FORM) < TARGET_CHARACTERS && countries < 36) {
    countries += 1;
    papers = Math.min(12, papers + (countries % 2));
    blueprint = build(kind, terms, countries, papers);
  }
  return blueprint;
}

type Terms = ReturnType<typeof drawTerms>;

function drawTerms(kind: ProductKind, variant: number, choices: Choices) {
  const first = choices.below(UNDERLYINGS.length);
  const basket = Array.from(
    { length: kind.underlyings },
    (_, at) => UNDERLYINGS[(first + at * 5) % UNDERLYINGS.length],
  );
  return {
    variant,
    plan: choices.below(60),
    issuer: choices.of(ISSUERS),
    currency: CURRENCIES[variant % CURRENCIES.length] ?? 'CHF',
    basket: basket.filter((entry): entry is UnderlyingEntry => entry !== undefined),
  };
}

function build(kind: ProductKind, terms: Terms, countries: number, papers: number): Blueprint {
  const { currency, basket, variant, plan } = terms;
  const termDays = kind.termDays === null ? null : kind.termDays + LONGER_DAYS;
  const typeValue = (type: string, value: Node): NodeObject => ({ type, value });
  const names = basket.map((entry) => entry.nameText.slice(1, -1)).join(' / ');
  const delivered = kind.delivers && variant % 2 === 0 ? basket[0] : undefined;
  const name: Slot = (draw) =>
    `"${kind.name} ${draw.date(termDays ?? 0).slice(0, 7)} on ${names} (${draw.identifiers.valor})"`;
  const node: NodeObject = {
    id: (draw) => String(draw.id),
    name,
    legalCountry: (draw) => (draw.country === null ? 'null' : `"${draw.country}"`),
    currency,
    priceType: kind.priceType,
    issuePrice: kind.priceType === 'percentage' ? verbatimIssuePrice(variant) : decimalSlot(20, 5, 200, 18),
    denomination: kind.priceType === 'percentage' ? wholeAmount(21, 1_000, 1) : null,
    subscriptionEndTime: termDays === null ? null : time(-1, '16:00:00'),
    initialFixingTime: time(0, '17:30:00'),
    finalFixingTime: termDays === null ? null : time(termDays, '17:30:00'),
    paymentDate: day(7),
    repaymentDate: (draw) => dateOrNull(draw.version.repaidOn ?? (termDays === null ? null : draw.date(termDays + 7))),
    settlementType: delivered === undefined ? 'cash' : null,
    exerciseType: kind.exerciseType,
    direction: kind.direction === 'both' ? (variant % 2 === 0 ? 'long' : 'short') : kind.direction,
    quanto: variant === 3 ? null : variant % 2 === 0,
    identifiers: [
      typeValue('isin', (draw) => `"${draw.identifiers.isin}"`),
      typeValue('valor', (draw) => `"${draw.identifiers.valor}"`),
      typeValue('wkn', (draw) => `"${draw.identifiers.wkn}"`),
      typeValue('symbol', (draw) => `"${kind.symbol}${draw.identifiers.wkn.slice(-4)}"`),
      typeValue('ric', (draw) => `"${draw.identifiers.isin}=LEO"`),
    ],
    classifications: [typeValue('sspa', kind.sspa), typeValue('eusipa', kind.sspa), typeValue('cfi', kind.cfi)],
    underlyings: basket.map((entry, at) => underlying(entry, at, monitorsOf(kind, at), plan + at)),
    interests:
      kind.coupons === 0
        ? null
        : [
            {
              type: kind.conditionalCoupons ? 'conditional' : 'fix',
              dayCount: '30/360',
              annualRate: decimalSlot(30, 2, 12, kind.conditionalCoupons ? 18 : 2),
              periodAdjustment: variant % 2 === 1,
              memory: kind.conditionalCoupons ? variant % 2 === 0 : null,
              businessDayConvention: 'modifiedfollowing',
              coupons: coupons(kind.coupons, Math.floor((kind.termDays ?? 0) / kind.coupons), kind.conditionalCoupons),
            },
          ],
    repayment: termDays === null ? null : repayment(currency, termDays, delivered),
    markets: variant === 2 ? null : markets(1 + (variant % 4), termDays),
    parties: parties(terms.issuer),
    distributions: distributions(countries),
    documents: documents(papers),
    regulations: regulations(
      kind.risk,
      currency,
      kind.priceType === 'percentage' ? 'Percentage' : 'Units',
      kind.coupons > 0,
    ),
  };
  return { node, underlyings: basket.length, coupons: kind.coupons, currency };
}

function dateOrNull(date: string | null): string {
  return date === null ? 'null' : `"${date}"`;
}

function verbatimIssuePrice(variant: number): Node {
  return { verbatim: ['100', '100.00', '1.0E2', '99.750000000000000000'][variant] ?? '100' };
}

function monitorsOf(kind: ProductKind, at: number): readonly MonitorPlan[] {
  return kind.monitors.slice(0, at < 3 ? kind.monitors.length : 1);
}
