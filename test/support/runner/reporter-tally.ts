/** The counts of node:test that we use: tests by how they ended, not suites. */
export interface TestCounts {
  readonly tests: number;
  readonly passed: number;
  readonly skipped: number;
  readonly todo: number;
}

/** A test that failed, and the path of its file below the project, empty when it has none. */
export interface TestFailure {
  readonly file: string;
  readonly title: string;
}

/** What one run of some files gave. */
export interface TestPass {
  readonly counts: TestCounts;
  readonly failures: readonly TestFailure[];
}

export type Tally = ReturnType<typeof createTally>;

/** Failed, cancelled by a time-out or an end, or whatever else is not good. */
const failedOf = ({ tests, passed, skipped, todo }: TestCounts) => tests - passed - skipped - todo;

/** How a whole run went: its steps and its tests, added up. */
export function createTally() {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const forgiven: string[] = [];
  const warnings: string[] = [];
  /** Counts a failure that belongs to no test. */
  const fail = (what: string) => {
    total.failed += 1;
    failures.push(what);
  };
  return {
    fail,
    /** Counts a step that is no test of node:test: passed when there is no failure. */
    add(name: string, failure: string | undefined) {
      if (failure === undefined) total.passed += 1;
      else fail(`${name}: ${failure}`);
    },
    /** Says at the end, loudly, that something was left out. */
    warn: (what: string) => warnings.push(what),
    /** Counts a run, and forgives its failures when all of them were `repeated` and passed; the report lists them. */
    count({ counts, failures: failed }: TestPass, repeated?: TestPass) {
      const bad = failedOf(counts);
      const isForgiven = repeated !== undefined && repeated.failures.length === 0 && failedOf(repeated.counts) === 0;
      total.passed += counts.passed + (isForgiven ? bad : 0);
      total.failed += isForgiven ? 0 : bad;
      total.skipped += counts.skipped + counts.todo;
      for (const { file, title } of failed) (isForgiven ? forgiven : failures).push(file ? `${file}: ${title}` : title);
    },
    isGood: () => total.failed === 0,
    /** What failed, what was left out, and the last line, always of the form `N passed, N failed`. */
    report() {
      const list = (title: string, lines: readonly string[]) =>
        lines.length === 0 ? '' : `\n${title}\n${lines.map((line) => `  ${line}\n`).join('')}`;
      const skipped =
        total.skipped === 0 ? [] : [`Tests that were skipped, each with its reason above: ${total.skipped}`];
      const last = `${total.passed} passed, ${total.failed} failed\n`;
      return `${list('Failed:', failures)}${list('Failed at first, and passed when run again alone:', forgiven)}${list('Left out:', [...warnings, ...skipped])}\n${last}`;
    },
  };
}
