/** The width of a terminal; a file has no limit. */
export function columnsOf(stream: { readonly isTTY?: boolean; readonly columns?: number }): number {
  return stream.isTTY === true ? (stream.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/** Breaks lines at blanks so that each fits; further rows are indented as the first. A longer word, as an address, stays whole. */
export function folded(text: string, columns: number): string {
  const foldedLine = (line: string) => {
    const indent = /^ */.exec(line)?.[0] ?? '';
    let width = 0;
    return line.replace(/ *\S+/g, (word) => {
      const rest = word.trimStart();
      const isBroken = width > indent.length && width + word.length > columns;
      width = isBroken ? indent.length + rest.length : width + word.length;
      return isBroken ? `\n${indent}${rest}` : word;
    });
  };
  return text.split('\n').map(foldedLine).join('\n');
}
