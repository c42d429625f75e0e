export interface Page {
  readonly listKey: 'instruments' | 'events' | 'preTradeChecks';
  readonly rows: readonly PageRow[];
  readonly nextId?: string;
  readonly links: Readonly<Record<string, string>> | undefined;
}

export interface PageRow {
  readonly id: bigint;
  readonly text: string;
}

/** The initial size of a page's buffer, in bytes per row. The buffer grows for longer rows. */
const TYPICAL_ROW_BYTES = 9_500;
/** UTF-8 needs at most three bytes for each UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

export function renderPage(page: Page): Buffer {
  const head = `{${page.nextId === undefined ? '' : `"nextId":${JSON.stringify(page.nextId)},`}"${page.listKey}":[`;
  const members = Object.entries(page.links ?? {}).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  const tail = page.links === undefined ? ']}' : `],"links":{${members.join(',')}}}`;
  let buffer = Buffer.allocUnsafe(page.rows.length * TYPICAL_ROW_BYTES + 4_096);
  let length = 0;
  const write = (text: string) => {
    const most = text.length * MAX_BYTES_PER_UNIT;
    if (length + most > buffer.length) {
      const grown = Buffer.allocUnsafe((length + most) * 2);
      buffer.copy(grown, 0, 0, length);
      buffer = grown;
    }
    length += buffer.write(text, length);
  };
  write(head);
  for (const [at, row] of page.rows.entries()) {
    if (at > 0) write(',');
    write(row.text);
  }
  write(tail);
  return buffer.subarray(0, length);
}
