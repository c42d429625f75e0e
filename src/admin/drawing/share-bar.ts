import { type Html, html } from './html.ts';
import { drawing } from './picture.ts';

/** Part of a whole, as a bar; the text beside it has the numbers. `share`: 0 to 1, others are cut. */
export function shareBar(bar: {
  readonly title: string;
  readonly text: string;
  readonly share: number;
  readonly look: 'good' | 'bad' | 'plain';
}): Html {
  const { title, text, share, look } = bar;
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  const shapes = html`<rect class="rest" width="100" height="1"/><rect class="${look}" width="${width}" height="1"/>`;
  return drawing({ title, text, viewBox: '0 0 100 1', look: 'bar', shapes });
}
