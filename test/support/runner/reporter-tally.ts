/** The counts of node:test that we use: tests by how they ended, not suites. */
export interface TestCounts {
  readonly tests: number;
  readonly passed: number;
  readonly skipped: number;
  readonly todo: number;
}

/** How a whole run went: its steps and its tests, added up. */
export interface Tally {
  /** Counts a step that is no test of node:test: passed when there is no failure. */
  add(name: string, failure: string | undefined): void;
  /** Counts a failure that belongs to no test. */
  fail(what: string): void;
  /** Remembers which test failed, for the list at the end; `count` counts it. */
  note(error: unknown, title: string): void;
  /** Says at the end, loudly, that something was left out. */
  warn(what: string): void;
  count(counts: TestCounts): void;
  isGood(): boolean;
  /** What failed, what was left out, and the last line, always of the form `N passed, N failed`. */
  report(): string;
}

export function createTally(): Tally {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const warnings: string[] = [];
  const fail = (what: string) => {
    total.failed += 1;
    failures.push(what);
  };
  return {
    fail,
    add(name, failure) {
      if (failure === undefined) total.passed += 1;
      else fail(`${name}: ${failure}`);
    },
    note(error, title) {
      // A suite that failed only because of its tests: they are listed themselves.
      if ((error as { failureType?: string } | undefined)?.failureType !== 'subtestsFailed') failures.push(title);
    },
    warn: (what) => warnings.push(what),
    count(counts) {
      total.passed += counts.passed;
      // Failed, cancelled by a time-out or an end, or whatever else is not good.
      total.failed += counts.tests - counts.passed - counts.skipped - counts.todo;
      total.skipped += counts.skipped + counts.todo;
    },
    isGood: () => total.failed === 0,
    report() {
      const list = (title: string, lines: readonly string[]) =>
        lines.length === 0 ? '' : `\n${title}\n${lines.map((line) => `  ${line}\n`).join('')}`;
      const skipped =
        total.skipped === 0 ? [] : [`Tests that were skipped, each with its reason above: ${total.skipped}`];
      const last = `${total.passed} passed, ${total.failed} failed\n`;
      return `${list('Failed:', failures)}${list('Left out:', [...warnings, ...skipped])}\n${last}`;
    },
  };
}
