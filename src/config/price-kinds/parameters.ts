// The values of a request (part 2.1 of src/provider/README.md). Imports no library, because the code of the help imports this file.

/** The values of `fields`: an overview accepts any number of values, a series accepts one. */
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

/** The values of `interval`, the length of a window of intraday prices. */
export const INTERVALS = ['Minute_5', 'Hour_1'] as const;
