import { type Choices, createChoices, digits } from './random.ts';
import {
  LIST_FORM,
  type Node,
  type NodeObject,
  type Slot,
  sometimes,
  type TextForm,
  verbatim,
} from './text-template.ts';

/** A family of instruments with the same terms and parties. Each instrument has its own ids, prices and dates. */
export interface Blueprint {
  readonly node: NodeObject;
  readonly underlyings: number;
  readonly coupons: number;
  readonly currency: string;
}

const VARIANTS = 4;

/** Days that are added to the term of each product, so that no term ends while the simulator runs. */
const LONGER_DAYS = 3_650;

/**
 * The length of a real instrument's JSON text. Each generated text is filled up to this length with countries and
 * documents.
 */
const TARGET_CHARACTERS = 8_350;

/** All blueprints of a seed. `measure` returns the length of a node's text for a typical instrument. */
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

/** The European MiFID template of a product (part 2.2 of src/provider/README.md, Regulations). `risk` is a number from 1 to 7. */
function regulations(risk: number, currency: string, quotation: string, income: boolean): NodeObject {
  const protects = risk <= 2;
  return {
    emt: {
      _00001_EMT_Version: 'V4.2',
      _00040_Financial_Instrument_Currency: currency,
      _00096_Structured_Securities_Quotation: quotation,
      targetMarket: {
        investorType: {
          _01000_Target_Market_Reference_Date: day(0),
          _01010_Investor_Type_Retail: 'Y',
          _01020_Investor_Type_Professional: 'Y',
          _01030_Investor_Type_Eligible_Counterparty: 'Y',
        },
        knowledgeAndExperience: {
          _02010_Basic_Investor: protects ? 'Y' : 'N',
          _02020_Informed_Investor: risk <= 5 ? 'Y' : 'N',
          _02030_Advanced_Investor: 'Y',
          _02040_Expert_Investor_Germany: risk > 6 ? 'Y' : null,
        },
        abilityToBearLosses: {
          _03010_Compatible_With_Clients_Who_Can_Not_Bear_Capital_Loss: protects ? 'Y' : 'N',
          _03020_Compatible_With_Clients_Who_Can_Bear_Limited_Capital_Loss: protects ? 'Y' : 'N',
          _03030_Limited_Capital_Loss_Level: protects ? changingDecimal(301, 5, 10, 4) : null,
          _03040_Compatible_With_Clients_Who_Do_Not_Need_Capital_Guarantee: 'Y',
          _03050_Compatible_With_Clients_Who_Can_Bear_Loss_Beyond_Capital: 'Neutral',
        },
        riskTolerance: { _04010_Risk_Tolerance_PRIIPS_Methodology: verbatim(String(risk)) },
        clientObjectivesAndNeeds: {
          _05010_Return_Profile_Client_Looking_For_Preservation: protects ? 'Y' : 'N',
          _05020_Return_Profile_Client_Looking_For_Capital_Growth: income ? 'Neutral' : 'Y',
          _05030_Return_Profile_Client_Looking_For_Income: income ? 'Y' : 'N',
          _05040_Return_Profile_Hedging: risk > 6 ? 'Y' : 'Neutral',
          _05050_Option_Or_Leveraged_Return_Profile: risk > 6 ? 'Y' : 'N',
          _05070_Return_Profile_Pension_Scheme_Germany: 'Neutral',
          _05080_Minimum_Recommended_Holding_Period: risk > 6 ? 'VS' : 'M',
          _05115_Other_Specific_Investment_Need: 'N',
        },
        distributionStrategy: {
          _06010_Execution_Only: 'R',
          _06020_Execution_With_Appropriateness_Test_Or_Non_Advised_Services: 'B',
          _06030_Investment_Advice: 'B',
          _06040_Portfolio_Management: 'B',
        },
      },
      costsExAnte: {
        _07020_Gross_One_off_Cost_Financial_Instrument_Maximum_Entry_Cost_Non_Acquired: changingDecimal(311, 0, 3, 18),
        _07080_One_off_Costs_Financial_Instrument_Typical_Exit_Cost: changingDecimal(313, 0, 2, 6),
        _07090_One_off_Cost_Financial_Instrument_Exit_Cost_Structured_Products_Prior_RHP: changingDecimal(315, 0, 2, 9),
        _07100_Financial_Instrument_Gross_Ongoing_Costs: scientific(317),
        _07110_Financial_Instrument_Management_Fee: verbatim(income ? '0' : '0.0120'),
        _07130_Financial_Instrument_Transaction_Costs_Ex_Ante: verbatim('0.00'),
        _07140_Financial_Instrument_Incidental_Costs_Ex_Ante: verbatim(protects ? '0E-8' : '0.0'),
        _07150_Structured_Securities_Reference_Price_Ex_Ante: changingDecimal(321, 90, 20, 2),
        _07160_Ex_Ante_Costs_Reference_Date: day(0),
      },
    },
  };
}

function parties(issuer: IssuerEntry): Node {
  const key = (type: string) => `SP-${type.toUpperCase().slice(0, 3)}-${issuer.lei.slice(-4)}`;
  const party = (type: string, name: string, lei: string | null, vendorCompanyId: string | null): NodeObject => ({
    type,
    name,
    lei,
    exchangeGKey: type === 'custodian' ? null : key(type),
    vendorCompanyId,
  });
  return [
    party('issuer', issuer.name, issuer.lei, '5000042311'),
    party('guarantor', issuer.guarantor, issuer.lei.replace('529900', '549300'), '5000042312'),
    party('marketmaker', issuer.guarantor, issuer.lei.replace('529900', '549300'), null),
    party('custodian', 'SIX SIS AG', '549300RVPT0000000X35', '4298007862'),
    party('payingagent', issuer.guarantor, null, null),
  ];
}

function markets(count: number, termDays: number | null): Node {
  return MARKETS.slice(0, count).map((market, at) => ({
    mic: market.mic,
    name: market.name,
    firstTradingDate: day(7),
    lastTradingDate: termDays === null ? null : day(termDays),
    smallestTradeableUnit: verbatim(at === 0 ? '1' : '1.000'),
  }));
}

function distributions(count: number): Node {
  const kinds = ['allinvestors', 'qualifiedinvestors', 'notallowed'];
  return DISTRIBUTION_COUNTRIES.slice(0, count).map((country, at) => ({
    country,
    type: kinds[at % 3] ?? null,
    startDate: at % 3 === 2 ? null : day(-10),
    endDate: at % 5 === 1 ? day(0) : null,
  }));
}

const DOCUMENTS =
  'kid/en kid/de termsheet/en termsheet/de finalterms/en kid/fr kid/it termsheet/fr finalterms/de termsheet/it finalterms/fr kid/es'.split(
    ' ',
  );

function documents(count: number): Node {
  return DOCUMENTS.slice(0, count).map((document): Node => {
    const [documentType = '', language = ''] = document.split('/');
    const link: Slot = (draw) =>
      `"https://documents.example.com/${draw.identifiers.isin}/${document}?edition=${draw.version.dataChanges + 1}"`;
    return { documentType, language, link };
  });
}

interface ProductKind {
  readonly name: string;
  readonly symbol: string;
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
  readonly delivers: boolean;
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

const PRODUCT_KINDS: readonly ProductKind[] = [
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

/** An observed level of an underlying: its purpose, the kind of observation, and a percentage of the first price. */
interface MonitorPlan {
  readonly type: 'barrier' | 'strike' | 'redemption' | 'coupon';
  readonly monitoringType: 'continuous' | 'atexpiry' | 'atclose';
  readonly comparatorType: 'above' | 'atorabove' | 'below' | 'atorbelow';
  readonly percentage: string | null;
  readonly fromDay: number;
  readonly toDay: number | null;
}

/** The underlying number `at` of a product. The salts of underlyings (see `mix` in random.ts) begin at 400. */
function underlying(entry: UnderlyingEntry, at: number, monitors: readonly MonitorPlan[], plan: number): Node {
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

/** Coupons at equal intervals. A paid coupon contains the paid amount. The salts of coupons begin at 1000. */
function coupons(count: number, everyDays: number, conditional: boolean): Node {
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

/**
 * The member `repayment`. Its cash amount and rate are absent until the product is repaid. Its salts begin at 1300.
 */
function repayment(currency: string, termDays: number, delivered: UnderlyingEntry | undefined): Node {
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

// These functions write numbers as decimal text. They use no doubles, so that responses equal the ledger exactly.

/** A number from `low` to below `low + span`, with `fraction` digits after the point. */
function decimalSlot(salt: number, low: number, span: number, fraction: number): Slot {
  return (draw) => `${low + draw.below(salt, span)}.${draw.digits(salt + 1, fraction)}`;
}

function changingDecimal(salt: number, low: number, span: number, fraction: number): Slot {
  return (draw) => {
    const moved = salt + draw.version.dataChanges * 1_009;
    return `${low + draw.below(moved, span)}.${digits(draw.key, moved + 1, fraction)}`;
  };
}

function adjustedDecimal(salt: number, low: number, span: number, fraction: number): Slot {
  return (draw) => {
    const moved = salt + draw.version.adjustments * 2_003;
    return `${low + draw.below(moved, span)}.${digits(draw.key, moved + 1, fraction)}`;
  };
}

function wholeAmount(salt: number, low: number, span: number): Slot {
  return (draw) => `${low + draw.below(salt, span)}.00`;
}

function scientific(salt: number): Slot {
  return (draw) => `${1 + draw.below(salt, 9)}.${draw.digits(salt + 1, 3)}E-${2 + draw.below(salt + 2, 6)}`;
}

/** A quotient with 28 digits after the point. The last digit is never zero. */
function quotient(salt: number): Slot {
  return (draw) => `0.${draw.digits(salt, 27)}${1 + draw.below(salt + 1, 9)}`;
}

function day(daysAfterIssue: number): Slot {
  return (draw) => `"${draw.date(daysAfterIssue)}"`;
}

function time(daysAfterIssue: number, timeOfDay: string): Slot {
  return (draw) => `"${draw.date(daysAfterIssue)} ${timeOfDay}"`;
}

/** An issuer. The names are invented. */
interface IssuerEntry {
  readonly name: string;
  readonly lei: string;
  readonly guarantor: string;
}

const ISSUERS: readonly IssuerEntry[] = [
  { name: 'Helvetia Structured Issuance AG', lei: '529900HSI0000000SV17', guarantor: 'Bank Helvetia & Cie AG' },
  { name: 'Rheinbank Zertifikate GmbH', lei: '529900RHZ0000000TK42', guarantor: 'Rheinbank AG' },
  { name: 'Leman Financial Products (Guernsey) Ltd.', lei: '529900LFP0000000QA93', guarantor: 'Banque du Léman SA' },
  { name: 'Alpina Emissions- und Handels AG', lei: '529900AEH0000000ZP08', guarantor: 'Alpina Kantonalbank' },
];

/** An underlying. `nameText` is JSON text, because some providers escape more characters than necessary. */
interface UnderlyingEntry {
  readonly isin: string;
  readonly vendorKey: string;
  readonly currency: string;
  readonly nameText: string;
  readonly price: number;
}

const UNDERLYINGS: readonly UnderlyingEntry[] = [
  { isin: 'CH0038863350', vendorKey: 'NESN.S', currency: 'CHF', nameText: '"Nestlé SA"', price: 92 },
  { isin: 'CH0012032048', vendorKey: 'ROG.S', currency: 'CHF', nameText: '"Roche Holding AG"', price: 268 },
  { isin: 'CH0012005267', vendorKey: 'NOVN.S', currency: 'CHF', nameText: '"Novartis AG"', price: 97 },
  { isin: 'CH0244767585', vendorKey: 'UBSG.S', currency: 'CHF', nameText: '"UBS Group AG"', price: 29 },
  { isin: 'CH0011075394', vendorKey: 'ZURN.S', currency: 'CHF', nameText: '"Zurich Insurance Group AG"', price: 554 },
  { isin: 'DE0007164600', vendorKey: 'SAPG.DE', currency: 'EUR', nameText: '"SAP SE"', price: 226 },
  { isin: 'DE0007236101', vendorKey: 'SIEGn.DE', currency: 'EUR', nameText: '"Siemens AG"', price: 188 },
  { isin: 'FR0000120321', vendorKey: 'OREP.PA', currency: 'EUR', nameText: '"L\\u0027Or\\u00e9al SA"', price: 341 },
  { isin: 'NL0010273215', vendorKey: 'ASML.AS', currency: 'EUR', nameText: '"ASML Holding NV"', price: 655 },
  {
    isin: 'US0378331005',
    vendorKey: 'AAPL.OQ',
    currency: 'USD',
    nameText: '"Apple Inc. \\"Common Stock\\""',
    price: 229,
  },
  { isin: 'US67066G1040', vendorKey: 'NVDA.OQ', currency: 'USD', nameText: '"NVIDIA Corp."', price: 141 },
  { isin: 'JP3633400001', vendorKey: '7203.T', currency: 'JPY', nameText: '"トヨタ自動車"', price: 2741 },
];

const CURRENCIES = ['CHF', 'EUR', 'USD', 'GBP'] as const;

const DISTRIBUTION_COUNTRIES =
  'CH DE AT LI LU FR IT ES PT NL BE DK SE NO FI IE GB US SG HK JP AE QA ZA BR MX CA AU NZ IL TR PL CZ SK HU SI'.split(
    ' ',
  );

const MARKETS = [
  { mic: 'XSWX', name: 'SIX Swiss Exchange' },
  { mic: 'XSTU', name: 'Börse Stuttgart' },
  { mic: 'XFRA', name: 'Deutsche Börse Frankfurt' },
  { mic: 'XBRN', name: 'BX Swiss AG' },
] as const;
