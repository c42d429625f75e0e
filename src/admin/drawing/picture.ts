import { type Html, html } from './html.ts';

export interface Picture {
  /** What is shown: the caption, and the name of the drawing for those who do not see it. */
  readonly title: string;
  /** What there is to see in it, in a sentence. */
  readonly text: string;
  readonly height: number;
  /** Drawn within WIDTH and the height. */
  readonly shapes: Html;
  /** The numbers behind the drawing, with the names of the columns first. */
  readonly table: readonly (readonly string[])[];
}

/** Of every drawing; the page scales it. */
export const WIDTH = 360;

/** Where there is nothing to draw. */
export function caption(title: string, text: string): Html {
  return html`<figure><figcaption>${title}: <span class="soft">${text}</span></figcaption></figure>\n`;
}

/** A drawing with its caption, and its numbers as a table that can be opened. */
export function picture({ title, text, height, shapes, table }: Picture): Html {
  return html`<figure><figcaption>${title}: <span class="soft">${text}</span></figcaption>
${drawing({ title, text, viewBox: `0 0 ${WIDTH} ${height}`, look: 'chart', shapes })}
${tableOf(title, table)}</figure>
`;
}

/** An SVG that says in words what it shows. It holds no script, no style of its own, and nothing from elsewhere. */
export function drawing(parts: {
  readonly title: string;
  readonly text: string;
  readonly viewBox: string;
  readonly look: 'chart' | 'bar';
  readonly shapes: Html;
}): Html {
  const { title, text, viewBox, look, shapes } = parts;
  const fit = look === 'bar' ? html` preserveAspectRatio="none"` : null;
  return html`<svg class="${look}" role="img" viewBox="${viewBox}"${fit}><title>${title}</title><desc>${text}</desc>${shapes}</svg>`;
}

function tableOf(title: string, [columns = [], ...rows]: Picture['table']): Html {
  const head = columns.map((name) => html`<th scope="col">${name}</th>`);
  const body = rows.map(
    ([first = '', ...others]) =>
      html`<tr><th scope="row">${first}</th>${others.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  );
  return html`<details><summary>${title} as a table</summary><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></details>`;
}

/** Rectangles that stand on a line, as one path. Coordinates with one digit after the point. */
export function uprights(
  bars: readonly { readonly x: number; readonly width: number; readonly height: number }[],
  baseline: number,
): string {
  const shown = (value: number) => String(Math.round(value * 10) / 10);
  return bars
    .filter(({ height }) => height > 0)
    .map(({ x, width, height }) => `M${shown(x)} ${baseline}v-${shown(height)}h${shown(width)}V${baseline}z`)
    .join('');
}
