/** Why the system refuses to read a file, in brackets, and which user lacks which right; empty when it gives no reason. */
export function whyUnreadable(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  if (error.code !== 'EACCES') return ` (${String(error.code)})`;
  const user = process.getuid?.();
  return ` (EACCES): user ${user ?? 'of this process'} lacks the right to read it, or to enter a folder on the way to it`;
}
