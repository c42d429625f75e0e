const MAXIMUM_LENGTH = 64;
const SHORTEST_ALIKE = 4;

/** The known name that is most similar to an unknown name; undefined if no known name is similar. */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  if (unknown.length > MAXIMUM_LENGTH) return undefined;
  const allowedEdits = Math.max(1, Math.min(3, Math.floor(unknown.length / 3)));
  return known
    .map((name) => ({ name, edits: editDistance(plain(unknown), plain(name)) }))
    .filter(({ edits }) => edits <= allowedEdits)
    .sort((a, b) => a.edits - b.edits)[0]?.name;
}

/** The known name that begins with an unknown name, or with which an unknown name begins: `user` and `username`. */
export function alikeName(unknown: string, known: readonly string[]): string | undefined {
  const wanted = plain(unknown);
  return known.find((name) => {
    const [short = '', long = ''] = [wanted, plain(name)].sort((one, other) => one.length - other.length);
    return short.length >= SHORTEST_ALIKE && long.startsWith(short) && long !== `${short}file`;
  });
}

/** Ignores case and separators: `poll_interval` means `pollInterval`. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
