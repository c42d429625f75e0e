import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder of the test's own, which goes when the test ends. */
export function temporaryFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
