import { Writable } from 'node:stream';
import { runCommandLine } from '../../../../src/commands/shell/program.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in this process, with an empty environment unless one is given. */
export async function runWith(
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly signal?: AbortSignal } = {},
): Promise<Ran> {
  const [stdout, stderr] = [collector(), collector()];
  const { env = {}, signal = new AbortController().signal } = options;
  const code = await runCommandLine({ arguments: args, env, stdout: stdout.stream, stderr: stderr.stream, signal });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(): { stream: Writable; text(): string } {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}
