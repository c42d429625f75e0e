import { type AskedDaily, DAILY, type DailyQuery } from './daily.ts';
import { type AskedIntraday, INTRADAY, type IntradayQuery } from './intraday.ts';
import { OVERVIEW, type OverviewQuery } from './overview.ts';

/** The prices of the interface, each in its file. The first that is enabled answers new instruments. */
export const PRICE_KINDS = { overview: OVERVIEW, daily: DAILY, intraday: INTRADAY } as const;

/** One request for prices. */
export type PriceQuery = OverviewQuery | DailyQuery | IntradayQuery;

/** What the records say of the request that led to them. */
export type AskedPrices = { readonly kind: 'overview' } | AskedDaily | AskedIntraday;
