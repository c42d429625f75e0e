import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { workerInfo } from '../connect-routes.ts';
import { ageChart, minuteChart, shareBar } from '../drawing/charts.ts';
import { type Html, html } from '../drawing/html.ts';
import { ago } from '../texts.ts';
import type { Status, Whole, WholeStatus } from './status.ts';
import { type Card, type Chart, type Fact, type Item, viewOf } from './status-view.ts';

const STATUS_STYLE = `
:root { color-scheme: light dark; --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4;
  --good: #1a7f37; --bad: #c62828; --wait: #8a5a00; --good-back: #dafbe1; --bad-back: #ffe3e0; --wait-back: #fff1cc;
  --plain-back: #e8ebef; --ink: #0969da;
  --face: -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, "DejaVu Sans",
  sans-serif; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --card: #182028; --text: #e6edf3; --soft: #9aa7b4;
  --line: #2d3843; --good: #56d364; --bad: #ff8a80; --wait: #e3b341; --good-back: #12351d; --bad-back: #4a1a18;
  --wait-back: #3a2d0a; --plain-back: #26313c; --ink: #58a6ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 var(--face); }
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
.chart { height: 92px; margin-top: .3rem; font-size: .75rem; fill: var(--soft); overflow: visible; }
.chart .bars { fill: var(--ink); }
.bar { height: .5rem; margin-top: .3rem; border-radius: .25rem; }
.bar .rest { fill: var(--plain-back); }
.bar .plain { fill: var(--ink); }
.bar .good { fill: var(--good); }
.bar .bad { fill: var(--bad); }
code { font: .8125rem/1.5 ui-monospace, Menlo, Consolas, "Noto Sans Mono", "Liberation Mono", "DejaVu Sans Mono", monospace;
  display: block; }
code span { display: inline-block; max-width: 100%; }
.news { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 23rem), 1fr)); gap: .3rem 1.5rem; }
.news li { display: block; }
.text { white-space: pre-line; font-size: .875rem; color: var(--soft); }
ul { list-style: none; margin: 0; padding: 0; font-size: .925rem; }
li { display: flex; gap: .6rem; padding: .2rem 0; }
li .badge { align-self: flex-start; flex: none; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .875rem; }
a { color: inherit; }
`;

const REFRESH_SECONDS = 5;

export interface StatusRoutes {
  readonly status: () => Status;
  readonly whole: () => Promise<Whole | null>;
}

/** Adds the status page and the status as JSON. At the root, tools get the same description as from Kafka Connect. */
export function addStatusRoutes(app: FastifyInstance, { status, whole }: StatusRoutes): void {
  const style = createHash('sha256').update(STATUS_STYLE).digest('base64');
  // Allows only the page's own style: no script runs, and nothing is loaded.
  const policy = `default-src 'none'; style-src 'sha256-${style}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  const now = async (): Promise<WholeStatus> => ({ whole: await whole(), ...status() });
  app.get('/status.json', now);
  app.get('/', async (request, reply) => {
    reply.header('vary', 'accept');
    if (!request.headers.accept?.includes('text/html')) return workerInfo(status());
    const page = statusPage(await now(), !new URLSearchParams(request.url.split('?')[1]).has('hold'));
    return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
  });
}

/** The status as a page without scripts. `refreshes`: the page reloads itself; a link on the page stops this. */
function statusPage(status: WholeStatus, refreshes: boolean): string {
  const { version, at, processor, kafkaClusterId } = status;
  const view = viewOf(status);
  const isReady = view.ready.level === 'good';
  const checks = html`<section><h2>Readiness</h2><div class="card"><ul>${view.checks.map(
    ({ level, label, text }) => html`<li>${badge(level, label)}<span>${text}</span></li>\n`,
  )}</ul></div></section>`;
  const news = view.notifications.map((item) => newsItem(item, at));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${refreshes ? html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}">` : null}
<link rel="icon" href="data:,">
<title>${isReady ? '' : '● '}${view.title} – structured-products-connect</title>
<style>${{ html: STATUS_STYLE }}</style>
</head>
<body>
<main>
<header><h1>${view.title}</h1>${badge(view.ready.level, view.ready.label)}<span class="soft right"><time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>, ${view.about}; ${refreshLink(refreshes)}</span></header>
${view.alarms.map(({ level, text }) => html`<p class="note ${level}" role="alert">${text}</p>\n`)}${isReady ? null : checks}
<section><h2>${processor === null ? 'Sources' : 'Sources and prices'} <span class="soft">${view.summary}</span></h2>
<div class="cards">${view.cards.map(cardOf)}</div></section>
<section><h2>Notifications <span class="soft">the newest of this process; all: spconnect tail notifications --from-beginning</span></h2><div class="card">${
    news.length > 0 ? html`<ul class="news">${news}</ul>` : html`<span class="soft">None since the start.</span>`
  }</div></section>
${isReady ? checks : null}
<footer>structured-products-connect ${version}, Kafka cluster ${kafkaClusterId ?? 'not reached yet'}.
Counts are since the start of this process. This page as <a href="/status.json">JSON</a>; <a href="/readyz?verbose">readiness</a>; <a href="/metrics">metrics</a>.</footer>
</main>
</body>
</html>
`.html;
}

function refreshLink(refreshes: boolean): Html {
  if (refreshes) return html`reloads every ${REFRESH_SECONDS} s, <a href="/?hold">pause</a>`;
  return html`not reloading, <a href="/">reload again</a>`;
}

function badge(level: string, text: string): Html {
  return html`<span class="badge ${level}">${text}</span>`;
}

/** Prevents line breaks within a duration, because readers see a duration as one unit. */
function unbroken(text: string): string {
  return text.replace(
    /(?<=\d) (?=(?:d|h|min|s)\b)|(?<=\d (?:d|h|min)) (?=\d)|(?<=\d (?:d|h|min|s)) (?=ago\b)/g,
    '\u00a0',
  );
}

function cardOf({ name, about, state, level, age, notes, facts, charts }: Card): Html {
  return html`<article class="card"><h3>${name} ${badge(level, state)}<span class="soft">${unbroken(age)}</span></h3><div class="soft">${about}</div>
${notes.map((note) => html`<div class="note ${note.level}">${unbroken(note.text)}</div>`)}
${facts.length === 0 ? null : html`<dl>${facts.map(factOf)}</dl>`}
${charts.map(chartOf)}</article>
`;
}

function factOf({ label, value, level = 'plain', at = null, share = null, command }: Fact): Html {
  const text = unbroken(value);
  const shown = at === null ? html`${text}` : html`<time datetime="${at}">${text}</time>`;
  // Prevents line breaks within an option, because readers see an option as one word.
  const words = command?.split(' ').map((word) => html`<span>${word}</span> `);
  return html`<dt>${label}</dt><dd>${level === 'plain' ? shown : badge(level, text)}${words ? html` <code>${words}</code>` : null}${share && shareBar(share)}</dd>
`;
}

function chartOf(chart: Chart): Html {
  if ('perMinute' in chart) return minuteChart(chart.title, chart.perMinute);
  return ageChart(chart.title, unbroken(chart.text), chart.ages);
}

function newsItem({ level, label, text, at = '' }: Item, now: string): Html {
  return html`<li>${badge(level, label)} <span class="soft"><time datetime="${at}">${ago(at, now)}</time></span><div class="text">${text}</div></li>\n`;
}
