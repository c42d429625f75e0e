import { createHash } from 'node:crypto';
import { type Html, html } from '../drawing/html.ts';
import { durationText } from './ages.ts';
import { shownState, urgency } from './card-parts.ts';
import { processorCard } from './processor-card.ts';
import { sourceCard } from './source-card.ts';
import type { Status } from './status.ts';
import { newsItem } from './status-news.ts';
import { STATUS_STYLE } from './status-style.ts';

const REFRESH_SECONDS = 5;

/** Nothing is loaded and nothing is run: only the page's own style is taken. */
export function statusPagePolicy(): string {
  const style = createHash('sha256').update(STATUS_STYLE).digest('base64');
  return `default-src 'none'; style-src 'sha256-${style}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

/**
 * The status as a page that works without scripts.
 *
 * @param refreshes whether it asks for itself again; a reader who needs longer, or opens a table, can stop that
 */
export function statusPage(status: Status, refreshes = true): string {
  const { prefix, version, ready, at, startedAt, sources, processor, kafkaClusterId } = status;
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
${ready ? null : checks(status)}
<section><h2>${processor === null ? 'Sources' : 'Sources and prices'}<span class="soft">${summary(status)}</span></h2>
<div class="cards">${urgentFirst(sources).map((source) => sourceCard(source, at))}${processor === null ? null : processorCard(processor, at)}</div></section>
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
