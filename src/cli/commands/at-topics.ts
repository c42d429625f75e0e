import type { TopicRole } from '../../config/groups/topics.ts';
import type { Settings } from '../../config/settings.ts';
import type { Installation } from '../../operator/installation.ts';
import type { CommandContext } from '../command-context.ts';
import { loadWithoutProvider } from './partial-settings.ts';

/** What a command reads before it connects, and what it does then. */
interface TopicsWork<Checked, Found> {
  readonly config: string;
  readonly needs: readonly TopicRole[];
  /** Refuses arguments that the settings do not know, before anything is asked of Kafka. */
  readonly check: (settings: Settings) => Checked;
  readonly work: (at: Installation, checked: Checked) => Promise<Found>;
}

/** Does the work of a command on the topics of its settings. What concerns only the provider need not be set. */
export async function atTopics<Checked, Found>(
  context: CommandContext,
  { config, needs, check, work }: TopicsWork<Checked, Found>,
): Promise<Found> {
  const { atInstallation } = await import('../../operator/installation.ts');
  const settings = await loadWithoutProvider(config, context);
  const checked = check(settings);
  return atInstallation({ settings, signal: context.signal, needs }, (at) => work(at, checked));
}
