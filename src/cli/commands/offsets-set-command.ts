import { type Command, Option } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { OffsetSet, RequestedPlace } from '../../operator/offset-set-operation.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { withoutControls } from '../describe-error.ts';
import { jsonText, outputOption } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';
import { pastTimeMs } from '../times.ts';
import { atTopics } from './at-topics.ts';
import { knownSource } from './known-source.ts';

interface SetOptions extends DataOptions {
  readonly execute: boolean;
  readonly since?: string;
  readonly to?: number;
}

/** `offsets set`: the stream of a source goes on at another place. What is and what will be committed goes to stdout. */
export function offsetsSetCommand(offsets: Command, context: CommandContext): void {
  const { stdout, stderr } = context;
  const command = offsets
    .command('set')
    .description('Set the stream of a source to another offset, or to its position at a given time.')
    .argument('<source>', 'the name of a source')
    .option('--since <offset>', 'an offset of the provider')
    .addOption(
      new Option('--to <time>', 'a time like 2026-03-31T12:00:00Z, or how long ago, like 6h')
        .argParser(pastTimeMs)
        .conflicts('since'),
    )
    .option('--execute', 'make the change; without this option, only show it', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nEvents that were already written are written again to the events topic, and their instruments have the older state\n' +
        'until the stream is read up to date. Events that are skipped are missing on the events topic. Walks follow and\n' +
        'correct the instruments. Stop the source first (spconnect stop), and resume it afterwards.\n\n' +
        'Example:\n  spconnect offsets set instruments --to 6h\n',
    )
    .action(async (name: string, { since, to, execute, output, config }: SetOptions) => {
      const { setOffset } = await import('../../operator/offset-set-operation.ts');
      const place =
        placeOf(since, to) ?? command.error('error: expected --since or --to', { exitCode: EXIT_CODES.usage });
      const found = await atTopics(context, {
        config,
        needs: ['offsets', 'states'],
        check: ({ sources }) => knownSource(command, name, sources),
        work: (at, source) => setOffset(at, { source, to: place, execute }),
      });
      const { before } = found.change;
      const data = { source: name, before: before.offset, after: found.after };
      stdout.write(output === 'json' ? jsonText(data) : asText(found));
      stderr.write(saidOf(found, name));
    });
}

function placeOf(since: string | undefined, to: number | undefined): RequestedPlace | null {
  if (since !== undefined) return { since };
  return to === undefined ? null : { atMs: to };
}

function asText({ change: { before }, after }: OffsetSet): string {
  const moved = ['since', 'serverDate'].map((key) => `${key}: ${before.offset?.[key]} -> ${after?.[key]}\n`);
  return withoutControls(moved.join(''));
}

function saidOf({ place, change: { before, besides, isStopped, done } }: OffsetSet, source: string): string {
  const others =
    besides.length === 0 ? '' : ` The other sources on partition ${before.partition} continue: ${besides.join(', ')}.`;
  const age =
    place.received === null
      ? ' No record says when the provider gave this offset: the source will report a suspected gap and walk.'
      : ` The provider was asked there at ${place.received}.`;
  const oldest = place.isOldest ? ' The topic has no record of the source from before the requested time.' : '';
  const next = ` The source continues from there when it is resumed (spconnect resume ${source}).`;
  if (done) return withoutControls(`The offset of source ${source} was changed.${age}${oldest}${next}${others}\n`);
  const first = isStopped ? '' : ` Stop the source first: spconnect stop ${source}.`;
  return withoutControls(`Nothing was changed; --execute makes the change.${age}${oldest}${first}${others}\n`);
}
