import { day } from './number-slots.ts';
import { type Node, type NodeObject, type Slot, verbatim } from './text-template.ts';
import { DISTRIBUTION_COUNTRIES, type IssuerEntry, MARKETS } from './vocabulary.ts';

/** Who issues, guarantees, quotes, holds and pays. */
export function parties(issuer: IssuerEntry): Node {
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

/** The trading venues; a product that trades nowhere has none. */
export function markets(count: number, termDays: number | null): Node {
  return MARKETS.slice(0, count).map((market, at) => ({
    mic: market.mic,
    name: market.name,
    firstTradingDate: day(7),
    lastTradingDate: termDays === null ? null : day(termDays),
    smallestTradeableUnit: verbatim(at === 0 ? '1' : '1.000'),
  }));
}

/** To whom the product may be sold, country by country. */
export function distributions(count: number): Node {
  const kinds = ['allinvestors', 'qualifiedinvestors', 'notallowed'];
  return DISTRIBUTION_COUNTRIES.slice(0, count).map((country, at) => ({
    country,
    type: kinds[at % 3] ?? null,
    startDate: at % 3 === 2 ? null : day(-10),
    endDate: at % 5 === 1 ? day(0) : null,
  }));
}

const DOCUMENTS: readonly (readonly [type: string, language: string])[] = [
  ['kid', 'en'],
  ['kid', 'de'],
  ['termsheet', 'en'],
  ['termsheet', 'de'],
  ['finalterms', 'en'],
  ['kid', 'fr'],
  ['kid', 'it'],
  ['termsheet', 'fr'],
  ['finalterms', 'de'],
  ['termsheet', 'it'],
  ['finalterms', 'fr'],
  ['kid', 'es'],
];

/** The product's documents; a data change publishes a new edition of each. */
export function documents(count: number): Node {
  return DOCUMENTS.slice(0, count).map(([documentType, language]): Node => {
    const link: Slot = (draw) =>
      `"https://documents.example.com/${draw.identifiers.isin}/${documentType}/${language}?edition=${draw.version.dataChanges + 1}"`;
    return { documentType, language, link };
  });
}
