import type { StackContext } from '../../../src/dev/local-stack/stack-context.ts';

/** What takes the place of an image that cannot be pulled. */
export interface StandIn {
  /** What is real in it and what is not, for the reader of the outcome. */
  readonly what: string;
  /** What the image says beside its files, as instructions of a Dockerfile. */
  readonly changes: readonly string[];
  /**
   * Adds to a root that has a shell already.
   *
   * @throws ConnectorError STACK_UNAVAILABLE when this machine lacks what it is made of
   */
  fill(root: string, context: StackContext): Promise<void>;
}
