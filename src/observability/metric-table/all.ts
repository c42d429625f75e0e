import { CONNECTION_METRICS } from './connections.ts';
import { PRICE_METRICS } from './prices.ts';
import { SOURCE_METRICS } from './sources.ts';

/** Every metric of this program, once. Those of the process (`process_…`, `nodejs_…`) come from the library. */
export const METRICS = { ...SOURCE_METRICS, ...PRICE_METRICS, ...CONNECTION_METRICS } as const;

export type MetricName = keyof typeof METRICS;
