import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/support/runner/temporary-folder.ts';
import { lastWords } from './java-process.ts';

const TRACE = `Caused by: java.lang.IllegalStateException: Unable to start the management interface
\tat io.vertx.core.impl.future.Composition.onFailure(Composition.java:50)
Caused by: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
\t... 4 more

`;

test('the last words of a program are its last error, and no line of a stack trace', async (t) => {
  const log = join(temporaryFolder(t), 'registry.log');
  await writeFile(log, TRACE);
  assert.equal(
    lastWords(log),
    `its last line: Caused by: java.net.BindException: Address already in use (log: ${log})`,
  );
});
