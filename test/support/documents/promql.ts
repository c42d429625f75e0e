import { METRICS, type MetricDefinition } from '../../../src/observe/metric-table.ts';

/** What Prometheus adds to every series, and to buckets. */
const EVERYWHERE = ['job', 'instance', 'le'];
/** What Prometheus itself writes about each target. */
const OF_PROMETHEUS = ['up'];

const WORDS = new Set(
  (
    'abs absent absent_over_time and avg avg_over_time bool by ceil changes clamp clamp_min clamp_max count delta deriv floor ' +
    'group_left group_right histogram_quantile ignoring increase irate label_replace max max_over_time min min_over_time offset ' +
    'on or quantile quantile_over_time rate resets round sort sort_desc sum sum_over_time time topk bottomk unless vector without'
  ).split(' '),
);

/**
 * What is wrong with the names in a query: metrics that no scrape has, and labels that the metrics of the query lack.
 *
 * @param scrape the text of a scrape, whose metrics are those that exist
 */
export function unknownNames(query: string, scrape: string): string[] {
  const existing = new Set(
    [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) => withSuffixes(name, type)),
  );
  const bare = query
    .replace(/"[^"]*"/g, '""')
    .replace(/\$[a-z_]+/gi, '')
    .replace(/\[[^\]]*\]/g, '');
  const labels = [
    ...[...bare.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = '']) =>
      [...inside.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((m) => m[1] ?? ''),
    ),
    ...[...bare.matchAll(/\b(?:by|on|ignoring|without)\s*\(([^)]*)\)/g)].flatMap(([, inside = '']) =>
      inside.split(',').map((name) => name.trim()),
    ),
  ];
  const metrics = [
    ...bare
      .replace(/\{[^}]*\}/g, '')
      .replace(/\b(?:by|on|ignoring|without)\s*\([^)]*\)/g, '')
      .matchAll(/\b([a-z_:][a-z0-9_:]*)\b/gi),
  ]
    .map((match) => match[1] ?? '')
    .filter((name) => !WORDS.has(name));
  const known = new Set([...EVERYWHERE, ...metrics.flatMap(labelsOf)]);
  return [
    ...metrics.filter((name) => !existing.has(name) && !OF_PROMETHEUS.includes(name)).map((name) => `metric ${name}`),
    ...labels.filter((name) => name !== '' && !known.has(name)).map((name) => `label ${name}`),
    ...(metrics.length === 0 ? ['no metric at all'] : []),
  ];
}

function withSuffixes(name: string, type: string | undefined): readonly string[] {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name];
}

function labelsOf(series: string): readonly string[] {
  const definitions: Readonly<Record<string, MetricDefinition>> = METRICS;
  const definition = definitions[series] ?? definitions[series.replace(/_(bucket|sum|count)$/, '')];
  // The library's own that have labels.
  if (definition === undefined) return series.startsWith('nodejs_') ? ['space', 'kind', 'type'] : [];
  return definition.labels;
}
