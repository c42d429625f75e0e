#!/usr/bin/env node
import { runCommandLine } from './cli/program.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    // A second signal means that waiting for the open transaction takes too long for whoever asks.
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new Error(`stopped by ${name}`));
  });
}

process.exitCode = await runCommandLine({
  arguments: process.argv.slice(2),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: stop.signal,
});
