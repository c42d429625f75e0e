#!/usr/bin/env node
// npx may have linked a command of an earlier version to this file. So this file must still work as a command.
const END_GRACE_MS = 1_000;
/** Signals within this time count as one. With `npm start`, Ctrl-C sends two: the terminal sends one, and npm forwards one. */
const SAME_SIGNAL_MS = 1_000;
const PARENT_CHECK_MS = 500;

const stop = new AbortController();
let stoppedAtMs = 0;
const onSignal = (name: string) => {
  // After a second signal, the process does not wait for the open transaction.
  if (stop.signal.aborted) {
    if (performance.now() - stoppedAtMs > SAME_SIGNAL_MS) process.exit(130);
    return;
  }
  stoppedAtMs = performance.now();
  stop.abort(new Error(`stopped by ${name}`, { cause: name }));
};
process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
// A SIGTERM to npx ends npx and its shell, but does not reach this process. So the end of the shell counts as the signal.
if (process.env.npm_command === 'exec') {
  const shell = process.ppid;
  setInterval(() => process.ppid !== shell && !stop.signal.aborted && onSignal('SIGTERM'), PARENT_CHECK_MS).unref();
}

// A reader such as `head` may close the output early: this is a normal end. Any other write error is a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`The data could not be written to stdout: ${error.message}.\n`);
    process.exit(1);
  }
  if (!stop.signal.aborted) stop.abort(new Error('the reader of the output has closed it'));
});
// Errors on stderr are ignored, because lost messages change no result.
process.stderr.on('error', () => {});

// The import comes after the signal handlers: loading takes a while, and a signal during loading must end the process.
const { runCommandLine } = await import('./commands/shell/program.ts');
process.exitCode = await runCommandLine({
  arguments: process.argv.slice(2),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
});
// A slow reader gets the whole output, unless a signal ends the process.
if (!stop.signal.aborted) {
  await Promise.race([
    new Promise<void>((resolve) => process.stdout.write('', () => resolve())),
    new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
  ]);
}
// A request to a broker that never answers must not delay the end of the process.
setTimeout(() => process.exit(), END_GRACE_MS).unref();
