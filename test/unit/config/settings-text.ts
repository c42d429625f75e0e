import assert from 'node:assert/strict';
import { type LoadSettingsOptions, loadSettings } from '../../../src/config/load.ts';
import { ConnectorError } from '../../../src/errors.ts';

/** The least that must be set, for tests to change parts of. */
export const MINIMAL = {
  referenceData: 'referenceData: { url: https://provider.example/api, auth: { type: none } }',
  kafka: 'kafka: { brokers: 127.0.0.1:9092 }',
  schemaRegistry: 'schemaRegistry: { url: http://127.0.0.1:8081 }',
} as const;

/** A settings file of these lines; the parts that are not given are minimal. */
export function settingsText(parts: Partial<typeof MINIMAL> | Readonly<Record<string, string>>): string {
  return Object.values({ ...MINIMAL, ...parts }).join('\n');
}

/** The lines of the one error that says what is wrong. */
export async function problemsIn(text: string, options: Partial<LoadSettingsOptions> = {}): Promise<readonly string[]> {
  const error = await loadSettings({ text, env: {}, ...options }).then(
    () => assert.fail('the settings were accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConnectorError, String(error));
  assert.equal(error.code, 'SETTINGS_INVALID');
  return error.message.split('\n').slice(1);
}

type Parts = Readonly<Record<string, string>>;

export const accepted = (parts: Parts) => loadSettings({ text: settingsText(parts), env: {} });

/** With one problem. */
export async function refused(parts: Parts, reason: RegExp): Promise<void> {
  const problems = await problemsIn(settingsText(parts));
  assert.equal(problems.length, 1, problems.join('\n'));
  assert.match(problems.join('\n'), reason);
}
