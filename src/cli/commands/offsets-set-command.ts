import { type Command, Option } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type { OffsetSet, StreamPlace } from '../../operator/offset-set-operation.ts';
import { withoutControls } from '../describe-error.ts';
import { jsonText, type Output, outputOption } from '../output.ts';
import { EXIT_CODES, type Terminal } from '../terminal.ts';
import { pastTimeMs } from '../times.ts';
import { knownSource } from './known-source.ts';

interface SetOptions {
  readonly config: string;
  readonly output: Output;
  readonly execute: boolean;
  readonly since?: string;
  readonly to?: number;
}

/** `offsets set`: the stream of a source goes on at another place. What is and what will be committed goes to stdout. */
export function offsetsSetCommand(
  offsets: Command,
  { env, stdout, stderr, signal }: Pick<Terminal, 'env' | 'stdout' | 'stderr' | 'signal'>,
  redaction: Redaction,
): void {
  const command = offsets
    .command('set')
    .description('Let the stream of a source go on at another offset, or where it was at a time.')
    .argument('<source>', 'the name of a source')
    .option('--since <offset>', 'an offset of the provider')
    .addOption(
      new Option('--to <time>', 'a time like 2026-03-31T12:00:00Z, or how long ago, like 6h')
        .argParser(pastTimeMs)
        .conflicts('since'),
    )
    .option('--execute', 'do it; without this, only tell what would be done', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nEvents that were written already come again on the events topic, and their instruments are as they were then until\n' +
        'the stream is read up to date again; events that are passed over are lost to it. Walks follow, which mend\n' +
        'the instruments. The source has to be stopped first, and runs again with resume.\n\n' +
        'Example:\n  spconnect offsets set instruments --to 6h\n',
    )
    .action(async (name: string, { since, to, execute, output, config }: SetOptions) => {
      const { setOffset } = await import('../../operator/offset-set-operation.ts');
      const { atInstallation } = await import('../../operator/installation.ts');
      const place =
        placeOf(since, to) ?? command.error('error: --since or --to is needed', { exitCode: EXIT_CODES.usage });
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const source = knownSource(command, name, settings.sources);
      const found = await atInstallation({ settings, signal, needs: ['offsets', 'states'] }, (installation) =>
        setOffset(installation, { source, to: place, execute }),
      );
      const { before } = found.change;
      const data = { source: name, before: before.offset, after: found.after };
      stdout.write(output === 'json' ? jsonText(data) : asText(found));
      stderr.write(saidOf(found, name));
    });
}

function placeOf(since: string | undefined, to: number | undefined): StreamPlace | null {
  if (since !== undefined) return { since };
  return to === undefined ? null : { atMs: to };
}

function asText({ change: { before }, after }: OffsetSet): string {
  const moved = ['since', 'serverDate'].map((key) => `${key}: ${before.offset?.[key]} -> ${after?.[key]}\n`);
  return withoutControls(moved.join(''));
}

function saidOf({ place, change: { before, besides, isStopped, done } }: OffsetSet, source: string): string {
  const others =
    besides.length === 0 ? '' : ` The other sources on partition ${before.partition} go on: ${besides.join(', ')}.`;
  const age =
    place.received === null
      ? ' No record tells when the provider gave this offset: the source will suspect a gap, say so, and walk.'
      : ` The provider was asked there at ${place.received}.`;
  const oldest = place.isOldest ? ' The topic has nothing of the source from before the time that was asked for.' : '';
  const next = ` It goes on from there once it runs again (spconnect resume ${source}).`;
  if (done) return withoutControls(`The offset of source ${source} was changed.${age}${oldest}${next}${others}\n`);
  const first = isStopped ? '' : ` The source has to be stopped first: spconnect stop ${source}.`;
  return withoutControls(`Nothing was changed; --execute does it.${age}${oldest}${first}${others}\n`);
}
