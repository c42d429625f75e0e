/** Emoji, and East Asian characters that a terminal shows in two columns. */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|\p{RI}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
const WITHOUT_COLUMN = /^[\p{M}\p{Cf}]*$/u;
const graphemes = new Intl.Segmenter();

/** The number of columns of a text on a terminal. */
export function displayWidth(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += widthOf(segment);
  return columns;
}

function widthOf(grapheme: string): number {
  if (WITHOUT_COLUMN.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** The text, or its beginning with an ellipsis, in at most this number of columns. */
export function shortened(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [shown, left] = ['', columns - 1];
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}
