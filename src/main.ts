import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const END_GRACE_MS = 1_000;

// What is compiled is kept for the next start, which loads all in half the time. Beside the packages, where only those
// can write who could change the code itself; where nobody can, as in the image, nothing is kept.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/spconnect', import.meta.url)));

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    // A second signal means that waiting for the open transaction takes too long for whoever asks.
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new Error(`stopped by ${name}`, { cause: name }));
  });
}

// Whoever reads our data may have enough, as `head` has: that is an end like any other. What cannot be written for
// another reason, as on a full disk, is a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`Data could not be written to stdout: ${error.message}.\n`);
    process.exit(1);
  }
  if (!stop.signal.aborted) stop.abort(new Error('nobody reads the output any more'));
});
// Talk that nobody listens to changes nothing.
process.stderr.on('error', () => {});

// Loaded only now: loading takes a while, and a signal during it must end the process in good order too.
const { runCommandLine } = await import('./cli/program.ts');
process.exitCode = await runCommandLine({
  arguments: process.argv.slice(2),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
});
// Whoever reads our data may be slow: all of it is theirs, unless the end was asked for.
if (!stop.signal.aborted) {
  await Promise.race([
    new Promise<void>((resolve) => process.stdout.write('', () => resolve())),
    new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
  ]);
}
// What was left behind, such as a request to a broker that never answers, must not hold up the end.
setTimeout(() => process.exit(), END_GRACE_MS).unref();
