/** The width of a terminal in characters; infinite if the stream is not a terminal. */
export function columnsOf(stream: { readonly isTTY?: boolean; readonly columns?: number }): number {
  return stream.isTTY === true ? (stream.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/** Breaks lines of more than `columns` characters at spaces. Each new line gets the broken line's indent. */
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
