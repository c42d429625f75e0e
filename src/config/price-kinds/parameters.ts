// The values that a request takes (part 2.1 of src/provider/README.md); without a library, since help texts list them.

/** Of `fields`: of an overview any number of them, of a series one. */
export const PRICE_FIELDS = {
  overview: [
    'LastPrice',
    'LastOpen',
    'LastHigh',
    'LastLow',
    'LastClose',
    'DailyPerformanceBasePrice',
    'YTDPerformanceBasePrice',
    'LastAccruedInterest',
  ],
  daily: ['Close', 'CloseAccruedInterest', 'OHLC', 'LastBidAsk', 'LastBidAskAccruedInterest'],
  intraday: ['Close', 'OHLC', 'BidAsk'],
} as const;

/** Of `interval`: the length of a window of intraday prices. */
export const INTERVALS = ['Minute_5', 'Hour_1'] as const;
