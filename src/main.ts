#!/usr/bin/env node
// npx keeps the link that it made for an earlier version, when this file was the command: it stays one.
const END_GRACE_MS = 1_000;
/** Ctrl-C below `npm start` comes twice at once: from the terminal, and from npm, which passes it on. */
const SAME_SIGNAL_MS = 1_000;

const stop = new AbortController();
let stoppedAtMs = 0;
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    // A second signal means that waiting for the open transaction takes too long for the user.
    if (stop.signal.aborted) {
      if (performance.now() - stoppedAtMs > SAME_SIGNAL_MS) process.exit(130);
      return;
    }
    stoppedAtMs = performance.now();
    stop.abort(new Error(`stopped by ${name}`, { cause: name }));
  });
}

// A reader of the output may close it early, as `head` does: that is a normal end. What cannot be written for another
// reason, as on a full disk, is a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`The data could not be written to stdout: ${error.message}.\n`);
    process.exit(1);
  }
  if (!stop.signal.aborted) stop.abort(new Error('the reader of the output has closed it'));
});
// Messages without a reader change nothing.
process.stderr.on('error', () => {});

// Loaded only now: loading takes a while, and a signal during it must end the process in good order too.
const { runCommandLine } = await import('./commands/shell/program.ts');
process.exitCode = await runCommandLine({
  arguments: process.argv.slice(2),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
});
// A reader of the output may be slow: it gets all of it, unless the process was asked to stop.
if (!stop.signal.aborted) {
  await Promise.race([
    new Promise<void>((resolve) => process.stdout.write('', () => resolve())),
    new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
  ]);
}
// A request to a broker that never answers must not hold up the end.
setTimeout(() => process.exit(), END_GRACE_MS).unref();
