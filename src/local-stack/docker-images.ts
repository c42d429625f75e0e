import type { ContainerRuntimeClient } from 'testcontainers';
import { ConnectorError } from '../errors.ts';
import { within } from '../support/deadline.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { StackContext } from './stack-context.ts';

/** From the request until the image's registry has answered: a pull that has not begun by then seldom does. */
const FIRST_ANSWER_LIMIT_MS = 6_000;
/** Between two lines of a pull's progress. */
const STALL_LIMIT_MS = 60_000;

export type Dockerode = ContainerRuntimeClient['container']['dockerode'];

/**
 * Makes sure that the daemon has the image, and gives up quickly when it cannot be had.
 *
 * @throws ConnectorError STACK_UNAVAILABLE with the daemon's reason.
 */
export async function ensureImage(docker: Dockerode, image: string, context: StackContext): Promise<void> {
  if (await isThere(docker, image)) return;
  context.onProgress(`Docker: pulling ${image}, once.`);
  const gaveUp = new AbortController();
  try {
    await pull(docker, image, context, gaveUp.signal);
  } catch (error) {
    context.signal.throwIfAborted();
    throw new ConnectorError('STACK_UNAVAILABLE', `${image} cannot be pulled: ${firstLine(error)}`, { cause: error });
  } finally {
    // The daemon ends a pull whose client is gone.
    gaveUp.abort();
  }
}

async function isThere(docker: Dockerode, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}

async function pull(docker: Dockerode, image: string, context: StackContext, abortSignal: AbortSignal): Promise<void> {
  const inTime = <T>(work: Promise<T>, what: string, limitMs: number) => {
    const late = () => new Error(`${what} took longer than ${limitMs / 1000} s`);
    return within(untilAborted(work, context.signal), limitMs, context.clock, late);
  };
  const request: Promise<NodeJS.ReadableStream> = docker.pull(image, { abortSignal });
  const stream = await inTime(request, 'the first answer', FIRST_ANSWER_LIMIT_MS);
  const chunks = stream[Symbol.asyncIterator]();
  let text = '';
  for (let limitMs = FIRST_ANSWER_LIMIT_MS; ; limitMs = STALL_LIMIT_MS) {
    const chunk = await inTime(Promise.resolve(chunks.next()), 'the next part', limitMs);
    if (chunk.done) return;
    const lines = `${text}${chunk.value}`.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { error } = line.trim() ? JSON.parse(line) : {};
      if (error) throw new Error(error);
    }
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n', 1)[0]?.slice(0, 300) ?? '';
}
