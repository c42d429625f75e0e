import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { Redaction } from '../../observability/redaction.ts';
import { wholeNumberOption } from '../numbers.ts';
import type { Terminal } from '../terminal.ts';
import { knownSource } from './known-source.ts';

/** `walk`: one more complete reading of the list, now. What was asked for is printed as one line of JSON. */
export function walkCommand(
  program: Command,
  { env, stdout, stderr, signal }: Terminal,
  _exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  const command = program
    .command('walk')
    .description('Request a walk: the source reads its complete list now and writes what differs.')
    .argument('<source>', 'the name of an instruments source')
    .option('--allow-shrink <count>', 'allow this walk to delete up to this many instruments', wholeNumberOption)
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nA walk that would delete too many instruments deletes none, and writes a notification with the number.\n' +
        'Ask the provider whether its list is right; then allow that number, for this walk only.\n\n' +
        'Example:\n  spconnect walk instruments --allow-shrink 1200\n',
    )
    .action(async (name: string, { allowShrink, config }: { allowShrink?: number; config: string }) => {
      const { atInstallation } = await import('../../operator/installation.ts');
      const { requestWalk } = await import('../../operator/state-operation.ts');
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const walking = settings.sources.filter(({ type }) => type === 'instruments');
      const source = knownSource(command, name, walking).name;
      const walk = await atInstallation({ settings, signal, needs: ['states'] }, (installation) =>
        requestWalk(installation, { source, allowShrink: allowShrink ?? null }),
      );
      stdout.write(`${JSON.stringify({ source, ...walk })}\n`);
      stderr.write(
        `A walk of source ${source} was requested. A running connector starts it now, or after the walk that is running; ` +
          'a stopped one when it starts.\n',
      );
    });
}
