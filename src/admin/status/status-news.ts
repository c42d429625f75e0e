import { type Html, html } from '../drawing/html.ts';
import { ago } from './ages.ts';
import type { Notified } from './status.ts';

/** The name of each kind for people, and its look. */
const KINDS: Readonly<Record<Notified['kind'], readonly [text: string, look: 'good' | 'wait' | 'bad']>> = {
  walkCompleted: ['walk completed', 'good'],
  gapSuspected: ['retention gap suspected', 'wait'],
  gapCertain: ['retention gap', 'bad'],
  gapProven: ['retention gap', 'bad'],
  streamReset: ['stream reset', 'bad'],
  offsetReset: ['offset reset', 'wait'],
  shrinkRefused: ['shrink refused', 'bad'],
  deletionSkipped: ['deletion skipped', 'wait'],
  deletionsStandStill: ['deletions suspended', 'bad'],
  walkGivenUp: ['walk given up', 'wait'],
  listLags: ['list lags the stream', 'bad'],
  sourceFailed: ['source failed', 'bad'],
};

/** One notification as an item of a list. */
export function newsItem({ kind, source, at, text }: Notified, now: string): Html {
  const [name, look] = KINDS[kind];
  return html`<li><span class="badge ${look}">${name}</span> ${source} <span class="soft"><time datetime="${at}">${ago(at, now)}</time></span><div class="text">${text}</div></li>\n`;
}
