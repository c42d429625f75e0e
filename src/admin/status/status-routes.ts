import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { workerInfo } from '../connect-worker.ts';
import { ageChart, minuteChart } from '../drawing/charts.ts';
import { counted, countText } from '../drawing/counts.ts';
import { type Html, html } from '../drawing/html.ts';
import { ago, durationText } from './ages.ts';
import {
  agesText,
  deadLetters,
  fact,
  heading,
  type Now,
  noFreshnessText,
  shownState,
  sourceCard,
  troubleNotes,
  urgency,
  whenOf,
} from './cards.ts';
import type { Notified, ProcessorStatus, ShownFreshness, ShownKind, Status } from './status.ts';

/** Problems of prices that are shown one by one. */
const MOST_PROBLEMS = 5;

/** The look of the status page: one column on a phone, light or dark as the reader's system is. */
const STATUS_STYLE = `
:root { color-scheme: light dark; --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4;
  --good: #1a7f37; --bad: #c62828; --wait: #8a5a00; --good-back: #dafbe1; --bad-back: #ffe3e0; --wait-back: #fff1cc;
  --plain-back: #e8ebef; --ink: #0969da; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --card: #182028; --text: #e6edf3; --soft: #9aa7b4;
  --line: #2d3843; --good: #56d364; --bad: #ff8a80; --wait: #e3b341; --good-back: #12351d; --bad-back: #4a1a18;
  --wait-back: #3a2d0a; --plain-back: #26313c; --ink: #58a6ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; margin-bottom: 1rem; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h2 .soft { margin-left: .5rem; }
h3 { font-size: 1.05rem; margin: 0; display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: center; }
p { margin: .5rem 0 0; }
.soft { color: var(--soft); font-size: .875rem; font-weight: 400; }
.right { margin-left: auto; }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 23rem), 1fr)); align-items: start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; min-width: 0; }
.cards .card { max-width: 46rem; }
.badge { border-radius: .8rem; padding: .05rem .6rem; font-size: .8rem; font-weight: 600; background: var(--plain-back);
  color: var(--text); display: inline-block; }
.note { border-radius: .4rem; padding: .5rem .7rem; margin-top: .7rem; white-space: pre-line; font-size: .875rem;
  background: var(--plain-back); }
.good { background: var(--good-back); color: var(--good); }
.bad { background: var(--bad-back); color: var(--bad); }
.wait { background: var(--wait-back); color: var(--wait); }
dl { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .2rem .9rem; margin: .7rem 0 0; font-size: .925rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; font-variant-numeric: tabular-nums; }
figure { margin: .9rem 0 0; font-size: .925rem; }
svg { display: block; width: 100%; }
.chart { max-width: 30rem; margin-top: .3rem; font-size: 13px; fill: var(--soft); overflow: visible; }
.chart .bars { fill: var(--ink); }
.chart .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
.chart .start { stroke: var(--soft); stroke-dasharray: 2 3; fill: none; }
.bar { height: .5rem; margin-top: .3rem; border-radius: .25rem; max-width: 22rem; }
.bar .rest { fill: var(--plain-back); }
.bar .plain { fill: var(--ink); }
.bar .good { fill: var(--good); }
.bar .bad { fill: var(--bad); }
details { font-size: .875rem; color: var(--soft); }
summary { cursor: pointer; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; color: var(--text); }
th { text-align: left; font-weight: 400; color: var(--soft); padding-right: 1.5rem; }
td { text-align: right; }
code { font-size: .8125rem; display: block; }
code span { display: inline-block; max-width: 100%; }
.news { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 23rem), 1fr)); gap: .3rem 1.5rem; }
.news li { display: block; }
.text { white-space: pre-line; font-size: .875rem; color: var(--soft); }
ul { list-style: none; margin: 0; padding: 0; font-size: .925rem; }
li { display: flex; gap: .6rem; padding: .2rem 0; }
li .badge { align-self: flex-start; flex: none; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .875rem; }
a { color: inherit; }
`;

/** The name of each kind for people, and its look. */
const KINDS: Readonly<Record<Notified['kind'], readonly [text: string, look: 'good' | 'wait' | 'bad']>> = {
  walkCompleted: ['walk completed', 'good'],
  gapSuspected: ['retention gap suspected', 'wait'],
  gapCertain: ['retention gap', 'bad'],
  gapProven: ['retention gap', 'bad'],
  streamBehind: ['provider behind', 'wait'],
  streamReset: ['stream reset', 'bad'],
  offsetReset: ['offset reset', 'wait'],
  shrinkRefused: ['shrink refused', 'bad'],
  deletionSkipped: ['deletion skipped', 'wait'],
  deletionsStandStill: ['deletions suspended', 'bad'],
  walkGivenUp: ['walk given up', 'wait'],
  topicReplaced: ['topic replaced', 'wait'],
  listLags: ['list lags the stream', 'bad'],
  sourceFailed: ['source failed', 'bad'],
};

const REFRESH_SECONDS = 5;

/** The status page for people, the same as JSON, and at the root, for tools, the description that Kafka Connect gives of itself. */
export function addStatusRoutes(app: FastifyInstance, { status }: { readonly status: () => Status }): void {
  const policy = statusPagePolicy();
  app.get('/status.json', () => status());
  app.get('/', (request, reply) => {
    reply.header('vary', 'accept');
    if (!request.headers.accept?.includes('text/html')) return workerInfo(status());
    const page = statusPage(status(), !new URLSearchParams(request.url.split('?')[1]).has('hold'));
    return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
  });
}

/** Nothing is loaded and nothing is run: only the page's own style is taken. */
function statusPagePolicy(): string {
  const style = createHash('sha256').update(STATUS_STYLE).digest('base64');
  return `default-src 'none'; style-src 'sha256-${style}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

/**
 * The status as a page that works without scripts.
 *
 * @param refreshes whether it asks for itself again; a reader who needs longer, or opens a table, can stop that
 */
function statusPage(status: Status, refreshes = true): string {
  const { prefix, version, ready, at, startedAt, alarms, sources, processor, kafkaClusterId } = status;
  const upSeconds = (Date.parse(at) - Date.parse(startedAt)) / 1_000;
  const readiness = ready ? badge('ready', 'good') : badge('not ready', 'bad');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${refreshes ? html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}">` : null}
<link rel="icon" href="data:,">
<title>${ready ? '' : '● '}${prefix} – structured-products-connect</title>
<style>${{ html: STATUS_STYLE }}</style>
</head>
<body>
<main>
<header><h1>${prefix}</h1>${readiness}<span class="soft right"><time datetime="${at}">${clockTime(at)}</time>, up ${durationText(upSeconds)}; ${refreshLink(refreshes)}</span></header>
${alarms.map(({ isGrave, text }) => html`<p class="note ${isGrave ? 'bad' : 'wait'}" role="alert">${text}</p>\n`)}${ready ? null : checks(status)}
<section><h2>${processor === null ? 'Sources' : 'Sources and prices'}<span class="soft">${summary(status)}</span></h2>
<div class="cards">${urgentFirst(sources).map((source) => sourceCard(source, status))}${processor === null ? null : processorCard(processor, status)}</div></section>
${notifications(status)}
${ready ? checks(status) : null}
<footer>structured-products-connect ${version}, Kafka cluster ${kafkaClusterId ?? 'not reached yet'}.
Counts are since the start of this process. This page as <a href="/status.json">JSON</a>; <a href="/readyz?verbose">readiness</a>; <a href="/metrics">metrics</a>.</footer>
</main>
</body>
</html>
`.html;
}

function refreshLink(refreshes: boolean): Html {
  if (refreshes) return html`new every ${REFRESH_SECONDS} s, <a href="/?hold">hold</a>`;
  return html`on hold, <a href="/">go on</a>`;
}

/** `3 sources: 2 running, 1 failed`. */
function summary({ sources }: Status): string {
  const counts = new Map<string, number>();
  for (const source of sources) counts.set(shownState(source), (counts.get(shownState(source)) ?? 0) + 1);
  const states = [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
  return `${sources.length} ${sources.length === 1 ? 'source' : 'sources'}: ${states || 'none runs in this process'}`;
}

/** What needs an operator comes first; the others are in the order of the settings. */
function urgentFirst(sources: Status['sources']): Status['sources'] {
  return [...sources].sort((a, b) => urgency(a) - urgency(b));
}

function checks({ checks: all }: Status): Html {
  const items = [...all]
    .sort((a, b) => Number(a.ok) - Number(b.ok))
    .map(
      ({ name, ok, why }) =>
        html`<li>${badge(ok ? 'ok' : 'no', ok ? 'good' : 'bad')}<span>${name}: ${why}</span></li>\n`,
    );
  return html`<section><h2>Readiness</h2><div class="card"><ul>${items}</ul></div></section>`;
}

function notifications({ notifications: newest, at }: Status): Html {
  const items = newest.map((one) => newsItem(one, at));
  const shown =
    items.length > 0 ? html`<ul class="news">${items}</ul>` : html`<span class="soft">None since the start.</span>`;
  return html`<section><h2>Notifications<span class="soft">the newest of this process; all: spconnect tail notifications --from-beginning</span></h2><div class="card">${shown}</div></section>`;
}

function clockTime(instant: string): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`;
}

function badge(text: string, kind: 'good' | 'bad'): Html {
  return html`<span class="badge ${kind}">${text}</span>`;
}

/** One notification as an item of a list. */
function newsItem({ kind, source, at, text }: Notified, now: string): Html {
  const [name, look] = KINDS[kind];
  return html`<li><span class="badge ${look}">${name}</span> ${source} <span class="soft"><time datetime="${at}">${ago(at, now)}</time></span><div class="text">${text}</div></li>\n`;
}

/** The price processor: how fresh its prices are. */
function processorCard(processor: ProcessorStatus, status: Now): Html {
  const { name, partitions, freshness, lastBatchAt, written, perMinute } = processor;
  const now = status.at;
  return html`<article class="card">${heading(processor, status)}<div class="soft">price processor, ${partitions.length} partitions of instruments here</div>
${troubleNotes(processor, now)}
<dl>
${freshness === null ? fact('Prices', html`${noFreshnessText(processor)}`) : freshnessFacts(freshness)}
${fact('Last batch', whenOf(lastBatchAt, now))}
${fact('Written', html`${counted(written.records, 'price')}`)}
${deadLetters(written.deadLetters, name)}
</dl>
${freshness === null ? null : freshness.kinds.map((kind) => agesChart(kind, freshness.kinds.length))}
${minuteChart('Prices a minute', perMinute)}</article>
`;
}

function freshnessFacts(freshness: ShownFreshness): Html {
  const { instruments, kinds, unreadable, pulled, lag } = freshness;
  return html`${fact('Instruments', html`${countText(instruments)}: ${statesText(freshness)}`)}
${unreadable > 0 ? fact('Unreadable', alarming(unreadable)) : null}
${fact('Overdue', alarming(freshness.overdue))}
${fact('Failing', failingText(freshness.failing))}
${kinds.slice(1).map(otherKind)}
${fact('Quoting pulled', html`${countText(pulled)}`)}
${fact('Input lag', html`${lag === null ? 'not known' : `${countText(lag)} records`}`)}`;
}

/** A kind beside the first one. */
function otherKind(kind: ShownKind): Html {
  const { overdue, failing } = kind;
  const counts = html`${statesText(kind)}; ${alarming(overdue)} overdue, failing: ${failingText(failing)}`;
  return fact(`Prices ${kind.kind}`, counts);
}

function agesChart(kind: ShownKind, kinds: number): Html {
  return ageChart(kinds === 1 ? 'Prices by age' : `Prices by age, ${kind.kind}`, agesText(kind), kind.ages);
}

function alarming(count: number): Html {
  return count > 0 ? html`<span class="badge bad">${countText(count)}</span>` : html`0`;
}

/** Together they are all instruments. */
function statesText(kind: Pick<ShownKind, 'priced' | 'waiting' | 'repaid' | 'failing'>): Html {
  const { priced, waiting, repaid } = kind;
  const counts = { priced, waiting, failing: sumOf(kind.failing), repaid };
  const shown = Object.entries(counts).filter(([name, count]) => name === 'priced' || count > 0);
  return html`${shown.map(([name, count]) => `${countText(count)} ${name}`).join(', ')}`;
}

function sumOf(failing: Readonly<Record<string, number>>): number {
  return Object.values(failing).reduce((sum, count) => sum + count, 0);
}

function failingText(failing: Readonly<Record<string, number>>): Html {
  const problems = Object.entries(failing).sort(([, a], [, b]) => b - a);
  const count = sumOf(failing);
  const shown = problems
    .slice(0, MOST_PROBLEMS)
    .map(([problem, instruments]) => `${problem}: ${countText(instruments)}`);
  return html`${countText(count)}${shown.length > 0 ? ` (${shown.join(', ')})` : ''}`;
}
