/** Names that make the simulated universe look like the real market; none of them is business advice. */
export interface IssuerEntry {
  readonly name: string;
  readonly lei: string;
  readonly guarantor: string;
}

export const ISSUERS: readonly IssuerEntry[] = [
  { name: 'Helvetia Structured Issuance AG', lei: '529900HSI0000000SV17', guarantor: 'Bank Helvetia & Cie AG' },
  { name: 'Rheinbank Zertifikate GmbH', lei: '529900RHZ0000000TK42', guarantor: 'Rheinbank AG' },
  { name: 'Leman Financial Products (Guernsey) Ltd.', lei: '529900LFP0000000QA93', guarantor: 'Banque du Léman SA' },
  { name: 'Alpina Emissions- und Handels AG', lei: '529900AEH0000000ZP08', guarantor: 'Alpina Kantonalbank' },
];

/** An underlying with its name as JSON text, since some providers escape more than they must. */
export interface UnderlyingEntry {
  readonly isin: string;
  readonly vendorKey: string;
  readonly currency: string;
  readonly nameText: string;
  readonly price: number;
}

export const UNDERLYINGS: readonly UnderlyingEntry[] = [
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

export const CURRENCIES = ['CHF', 'EUR', 'USD', 'GBP'] as const;

/** The countries into which products are sold, in the order in which a product names them. */
export const DISTRIBUTION_COUNTRIES = [
  'CH',
  'DE',
  'AT',
  'LI',
  'LU',
  'FR',
  'IT',
  'ES',
  'PT',
  'NL',
  'BE',
  'DK',
  'SE',
  'NO',
  'FI',
  'IE',
  'GB',
  'US',
  'SG',
  'HK',
  'JP',
  'AE',
  'QA',
  'ZA',
  'BR',
  'MX',
  'CA',
  'AU',
  'NZ',
  'IL',
  'TR',
  'PL',
  'CZ',
  'SK',
  'HU',
  'SI',
] as const;

export const MARKETS = [
  { mic: 'XSWX', name: 'SIX Swiss Exchange' },
  { mic: 'XSTU', name: 'Börse Stuttgart' },
  { mic: 'XFRA', name: 'Deutsche Börse Frankfurt' },
  { mic: 'XBRN', name: 'BX Swiss AG' },
] as const;
