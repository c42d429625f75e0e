import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { BodyEdges } from '../http/body-chunks.ts';
import type { Clock } from '../support/clock.ts';
import { systemRandom } from '../support/system-random.ts';
import { patiently } from './patient-request.ts';

/** What says of a response that it cannot be read; any other error says nothing of the position. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(['BODY_MALFORMED', 'BODY_TOO_LARGE', 'PROTOCOL_VIOLATION']);
/** One after the other; what follows them needs another command. */
const MOST_POSITIONS = 100;

/** A stream, with as few items in a response as the interface lets a caller ask for. */
export interface SmallestSteps {
  /** Reads the response at an offset, and throws why it cannot be read. */
  read(since: string | null, signal: AbortSignal): Promise<unknown>;
  /** The first and last bytes of that response, unread; null where it is too large or broke. */
  edges(since: string | null, signal: AbortSignal): Promise<BodyEdges | null>;
  /** The offset that these bytes name as the next one; null where they name none. */
  nextOf(edges: BodyEdges): string | null;
}

export interface Unreadable {
  /** Of the first position. */
  readonly problem: string;
  /** The first offset whose response can be read; null when a response does not show where it ends, or after too many. */
  readonly to: string | null;
  /** How many responses in a row cannot be read. */
  readonly positions: number;
}

/**
 * The part of a stream, from an offset on, that cannot be read: as little as the interface can show. Of each unreadable
 * response, only the link to the next one is taken, out of its bytes.
 *
 * @returns null when the first response can be read.
 */
export async function unreadableFrom(
  steps: SmallestSteps,
  since: string | null,
  parts: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Unreadable | null> {
  const first = await problemAt(steps.read, since, parts);
  if (first === null) return null;
  let at = since;
  for (let positions = 1; ; positions++) {
    const edges = await patiently(() => steps.edges(at, parts.signal), { ...parts, random: systemRandom });
    const next = edges && steps.nextOf(edges);
    if (next === null || next === at || positions > MOST_POSITIONS) return { problem: first, to: null, positions };
    at = next;
    if ((await problemAt(steps.read, at, parts)) === null) return { problem: first, to: at, positions };
  }
}

/** Why the response cannot be read, in two attempts: one may have been spoiled on its way. Null when it can. */
export async function problemAt(
  read: SmallestSteps['read'],
  since: string | null,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string | null> {
  const attempt = async () => {
    try {
      await read(since, signal);
      // A refusal is no response that cannot be read: the source proves it, and heals the gap.
      return null;
    } catch (error) {
      if (error instanceof ConnectorError && UNREADABLE.has(error.code)) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  const parts = { clock, random: systemRandom, signal };
  return (await patiently(attempt, parts)) && (await patiently(attempt, parts));
}
