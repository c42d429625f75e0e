// Loaded into every test process by the runner: a file whose process does not end by itself after its last test has
// left something open, and would keep the whole run waiting. It reports what, and fails.

import { after } from 'node:test';

const END_LIMIT_MS = 180_000;

after((context) => {
  // The file's own hooks come after this one and may have much to tidy up: the one that is added here is the last.
  if ('after' in context) context.after(watch);
  else watch();
});

function watch(): void {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'PipeWrap');
    console.error(`The tests ended, but not their process: still open are ${open.join(', ') || 'timers or pipes'}.`);
    process.exit(1);
  }, END_LIMIT_MS).unref();
}
