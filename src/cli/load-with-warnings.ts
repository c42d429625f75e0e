import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { isTooShortToRedact, type Redaction, SHORTEST_SECRET } from '../observability/redaction.ts';

/** The settings, and what is allowed in them and may yet be a mistake. Throws as loadSettings does. */
export async function loadWithWarnings(options: {
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redaction: Redaction;
}): Promise<{ readonly settings: Settings; readonly warnings: readonly string[] }> {
  const { file, env, redaction } = options;
  const short = new Set<string>();
  const onSecret = (value: string) => {
    redaction.register(value);
    if (isTooShortToRedact(value)) short.add(value);
  };
  const settings = await loadSettings({ file, env, onSecret });
  // Loaded only now: it needs what the settings have loaded.
  const { settingsWarnings } = await import('../config/warnings.ts');
  const ofSecrets = [...short].map(
    () =>
      `A secret has fewer than ${SHORTEST_SECRET} characters. It is not taken out of messages by its value, as it would be ` +
      'found within ordinary words; use a longer one.',
  );
  return { settings, warnings: [...settingsWarnings(settings), ...ofSecrets] };
}
