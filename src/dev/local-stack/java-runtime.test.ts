import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../test/support/runner/temporary-folder.ts';
import { findNewestJava, parseJavaVersion, usableJava } from './java-runtime.ts';

const VERSIONS: readonly (readonly [string, number | undefined])[] = [
  ['openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)', 17],
  ['openjdk version "25.0.3" 2026-04-21 LTS', 25],
  ['openjdk version "21" 2023-09-19', 21],
  ['java version "1.8.0_402"', 8],
  ['openjdk version "22-ea" 2024-03-19', 22],
  ['Picked up JAVA_TOOL_OPTIONS: -Dversion=3\nopenjdk version "17.0.1" 2021-10-19', 17],
  ['Unable to locate a Java Runtime.', undefined],
  ['', undefined],
];

test('the release number is found in the output of every kind of Java', () => {
  assert.deepEqual(
    VERSIONS.map(([text]) => parseJavaVersion(text)),
    VERSIONS.map(([, version]) => version),
  );
});

/** A folder with programs that answer `-version` like a Java. */
async function javaHome(t: TestContext, name: string, answer: string, exitCode = 0): Promise<string> {
  const root = temporaryFolder(t);
  const home = join(root, name);
  await mkdir(join(home, 'bin'), { recursive: true });
  await writeFile(join(home, 'bin/java'), `#!/bin/sh\necho '${answer}' >&2\nexit ${exitCode}\n`);
  await chmod(join(home, 'bin/java'), 0o755);
  return home;
}

test('the newest Java of JAVA_HOME, the path and the usual folders is used', async (t) => {
  const named = await javaHome(t, 'named', 'openjdk version "17.0.1"');
  const onPath = await javaHome(t, 'path [with] stars *', 'java version "1.8.0_1"');
  const usual = await javaHome(t, 'jdk-25', 'openjdk version "25.0.3"');
  const broken = await javaHome(t, 'broken', 'openjdk version "99.0.1"', 1);
  const env = { JAVA_HOME: named, PATH: `${onPath}/bin::${broken}/bin:/nowhere` };
  assert.deepEqual(await findNewestJava(env, [`${usual}/../*/bin/java`]), {
    program: `${usual}/bin/java`,
    version: 25,
  });
  assert.deepEqual(await findNewestJava(env, []), { program: `${named}/bin/java`, version: 17 });
  assert.deepEqual(await findNewestJava({ PATH: env.PATH }, []), { program: `${onPath}/bin/java`, version: 8 });
});

test('without a Java that is new enough, the error names the necessary version', async (t) => {
  const old = await javaHome(t, 'old', 'openjdk version "11.0.2"');
  await assert.rejects(usableJava({ JAVA_HOME: old }, []), {
    code: 'STACK_UNAVAILABLE',
    message: 'Java 17 or later is needed, and the newest found is Java 11',
  });
  await assert.rejects(usableJava({}, []), { message: 'Java 17 or later is needed, and none was found' });
});
