/** A piece of HTML that is safe to put into a page. */
export interface Html {
  readonly html: string;
}

type Insertable = Html | string | number | null | readonly Html[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes HTML from a template. Each inserted value is escaped, unless the value is HTML; null inserts nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Insertable[]): Html {
  const inserted = values.map((value) => {
    if (value === null) return '';
    if (typeof value !== 'object') return escaped(String(value));
    return 'html' in value ? value.html : value.map((piece) => piece.html).join('');
  });
  return { html: parts.map((part, position) => part + (inserted[position] ?? '')).join('') };
}

/** Escapes HTML, and replaces control characters, except line breaks, with blanks. */
function escaped(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, ' ').replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
