/** Ends a campaign: something that must never happen, with all sentences that describe it. */
export class Violation extends Error {
  readonly connector: string;
  readonly findings: readonly Finding[];

  constructor(connector: string, findings: readonly Finding[]) {
    super(
      `${connector}: ${findings
        .slice(0, 20)
        .map(({ kind, text }) => `${kind}: ${text}`)
        .join('; ')}`,
    );
    this.connector = connector;
    this.findings = findings;
  }
}

/** `wrong` is what is there and must not be, `stuck` what does not come to rest, or ended by itself. */
export const FINDING_KINDS = ['lost', 'twice', 'out of order', 'wrong', 'stuck'] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

export interface Finding {
  readonly kind: FindingKind;
  readonly text: string;
}
