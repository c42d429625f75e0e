import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startJavaProcess } from '../../../src/local-stack/java-process.ts';
import { type Clock, systemClock } from '../../../src/support/clock.ts';
import { isRunning } from '../../support/connectors/running-process.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

/** Starts this shell script in place of a Java, and waits until it has written "up". */
async function start(t: TestContext, script: string, clock: Clock = systemClock) {
  const folder = await mkdtemp(join(tmpdir(), 'java-process-test-'));
  const program = join(folder, 'java');
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  const java = { program, version: 17 };
  const logFile = join(folder, 'kafka.log');
  const started = await startJavaProcess({
    java,
    arguments: ['-jar', 'a.jar'],
    maximumHeapMb: 64,
    folder,
    logFile,
    removeWithOrphan: [],
    clock,
  });
  t.after(async () => {
    await started.kill();
    await rm(folder, { recursive: true });
  });
  while (!(await readFile(logFile, 'utf8')).includes('up')) await systemClock.sleep(5);
  return { started, logFile };
}

const STAY = 'while :; do sleep 0.05; done';

test('a program that ends in good order may do so, and is not said to have failed', async (t) => {
  const { started, logFile } = await start(t, `trap 'echo bye; exit 0' TERM; echo up; ${STAY}`);
  assert.equal(started.ended(), undefined);
  await started.stop();
  await started.stop();
  assert.deepEqual([isRunning(started.pid), started.ended()], [false, undefined]);
  assert.match(await readFile(logFile, 'utf8'), /bye/);
});

test('a program that does not listen is killed in the end', async (t) => {
  const clock = skippingClock();
  const { started } = await start(t, `trap '' TERM; echo up; ${STAY}`, clock);
  await started.stop();
  assert.equal(isRunning(started.pid), false);
  assert.deepEqual(clock.sleepsMs, [10_000]);
});

test('a program that ended by itself is reported with its last words', async (t) => {
  const { started, logFile } = await start(
    t,
    'echo up; echo "Address already in use"; echo "  at kafka.Kafka"; exit 3',
  );
  while (started.ended() === undefined) await systemClock.sleep(5);
  assert.equal(started.ended(), `kafka ended with code 3; its last words: Address already in use (log: ${logFile})`);
});
