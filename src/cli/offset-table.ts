import { ago, durationText } from '../admin/status/ages.ts';
import type { Settings } from '../config/settings.ts';
import { RETENTION_MS } from '../connector/stream/retention-gap.ts';
import { committedWalkIntervalMs } from '../connector/walk/instruments-offset.ts';
import type { ListedOffset } from '../operator/offsets-operation.ts';
import { withoutControls } from './describe-error.ts';

/** One row for each source, below the names of the columns: where it is in its stream and in its walks, as of now. */
export function offsetTable(listed: readonly ListedOffset[], settings: Settings, nowMs: number): string[][] {
  const intervals = new Map(
    settings.sources.map((source) => [source.name, source.type === 'instruments' ? source.walkIntervalMs : null]),
  );
  const rows = listed.map((one) => offsetRow(one, intervals.get(one.source) ?? null, nowMs));
  return [['source', 'type', 'since', 'stream read', 'unread events kept for', 'last walk', 'next walk'], ...rows];
}

function offsetRow(
  { source, type, offset, problem, configured }: ListedOffset,
  intervalMs: number | null,
  nowMs: number,
) {
  const name = [source, `${type ?? 'the key of another program'}${configured ? '' : ' (not in the settings)'}`];
  if (offset === null) return [...name, problem ?? 'nothing is committed'];
  const dateOf = (key: string) => Date.parse(String(offset[key]));
  const now = new Date(nowMs).toISOString();
  const shown = (ms: number, text: (ms: number) => string) => (Number.isNaN(ms) ? '' : text(ms));
  const since = (ms: number) => ago(new Date(ms).toISOString(), now);
  const walkMs = dateOf(offset.walkStartedOwn === undefined ? 'walkStartedAt' : 'walkStartedOwn');
  return [
    ...name,
    String(offset.since ?? ''),
    shown(dateOf(offset.ownDate === undefined ? 'serverDate' : 'ownDate'), since),
    shown(dateOf('serverDate') + RETENTION_MS - nowMs, (ms) => (ms > 0 ? durationText(ms / 1_000) : 'lost in part')),
    shown(walkMs, (ms) => `${offset.walk}, begun ${since(ms)}${offset.walkPending === true ? ', not ended' : ''}`),
    // The settings here may be others than those of the process that walks.
    shown(walkMs + (committedWalkIntervalMs(offset) ?? intervalMs ?? Number.NaN) - nowMs, nextText),
  ];
}

function nextText(ms: number): string {
  return ms > 0 ? `in ${durationText(ms / 1_000)}` : 'now';
}

/** All members of each offset, as they are committed. */
export function offsetMembers(listed: readonly ListedOffset[]): string {
  return listed.map(membersOf).join('\n');
}

export function membersOf({ source, type, configured, partition, offset, problem }: ListedOffset): string {
  const notes = [type ?? 'the key of another program', `partition ${partition}`];
  if (!configured) notes.push('not in the settings');
  const lines =
    offset === null ? [problem ?? 'nothing is committed'] : Object.entries(offset).map(([key, v]) => `${key}: ${v}`);
  return withoutControls(`${source} (${notes.join(', ')})\n${lines.map((line) => `  ${line}\n`).join('')}`);
}
