/** Why the system does not let us read a file, in brackets, and who lacks which right; empty when it does not say. */
export function whyUnreadable(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  if (error.code !== 'EACCES') return ` (${String(error.code)})`;
  const user = process.getuid?.();
  return ` (EACCES): user ${user ?? 'of this process'} lacks the right to read it, or to enter a folder on the way to it`;
}
