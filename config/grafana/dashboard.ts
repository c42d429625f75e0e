// The dashboard, from panels.ts. `node config/grafana/dashboard.ts` writes it into dashboards/; a test fails when it is stale.
import { writeFileSync } from 'node:fs';
import { type Panel, ROWS } from './panels.ts';

const FILE = new URL('dashboards/structured-products-connect.json', import.meta.url);
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

/** The dashboard as Grafana reads it. */
export function dashboardText(): string {
  const panels: object[] = [];
  let y = 0;
  for (const row of ROWS) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: place(0, y, 24, 1),
      panels: [],
    });
    y += 1;
    const perLine = 24 / row.width;
    for (const [index, panel] of row.panels.entries()) {
      const at = place(
        (index % perLine) * row.width,
        y + Math.floor(index / perLine) * row.height,
        row.width,
        row.height,
      );
      panels.push({ id: panels.length + 1, ...panelJson(panel), gridPos: at });
    }
    y += Math.ceil(row.panels.length / perLine) * row.height;
  }
  const dashboard = {
    uid: 'structured-products-connect',
    title: 'Structured products on Kafka',
    tags: ['structured-products-connect'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    graphTooltip: 1,
    templating: {
      list: [
        datasourceVariable(),
        variable('job', 'label_values(spconnect_build_info, job)'),
        variable('source', 'label_values(spconnect_source_status{job=~"$job"}, source)'),
      ],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function place(x: number, y: number, w: number, h: number) {
  return { x, y, w, h };
}

function panelJson({ title, description, unit, queries, stat, stacked }: Panel): object {
  const targets = queries.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource: DATASOURCE,
    expr,
    legendFormat,
  }));
  const common = { title, description, datasource: DATASOURCE, targets };
  if (stat) {
    return {
      type: 'stat',
      ...common,
      fieldConfig: {
        defaults: { unit, decimals: 0, noValue: '–', color: { mode: 'thresholds' }, thresholds: thresholds(stat) },
        overrides: [],
      },
      options: { colorMode: 'background', graphMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } },
    };
  }
  const drawn = {
    axisSoftMin: 0,
    lineWidth: 1,
    fillOpacity: stacked ? 40 : 8,
    showPoints: 'never',
    ...(stacked && { stacking: { mode: 'normal' } }),
  };
  return {
    type: 'timeseries',
    ...common,
    fieldConfig: { defaults: { unit, custom: drawn }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  };
}

function thresholds(stat: NonNullable<Panel['stat']>): object {
  return { mode: 'absolute', steps: steps(stat).map(([color, value]) => ({ color, value })) };
}

/** A colour holds from its value up to that of the next one. */
function steps(stat: NonNullable<Panel['stat']>): readonly (readonly [color: string, value: number | null])[] {
  if (stat === 'plain') return [['green', null]];
  const { orange, red } = stat;
  if (red < orange)
    return [
      ['red', null],
      ['orange', red],
      ['green', orange],
    ];
  return [
    ['green', null],
    ['orange', orange],
    ['red', red],
  ];
}

function datasourceVariable(): object {
  return {
    name: 'datasource',
    label: 'Data source',
    type: 'datasource',
    query: 'prometheus',
    current: { text: 'Prometheus', value: 'prometheus' },
  };
}

function variable(name: string, query: string): object {
  const all = { text: 'All', value: '$__all' };
  return {
    name,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: all,
  };
}

if (import.meta.main) writeFileSync(FILE, dashboardText());
