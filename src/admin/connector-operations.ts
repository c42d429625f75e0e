import type { SourceOffset } from '../kafka/offset-store.ts';
import type { TargetState } from '../worker/target.ts';

/** The offset of one connector on one partition of what it reads, as Kafka Connect shows it. */
export interface ConnectorOffset {
  readonly partition: Readonly<Record<string, unknown>>;
  readonly offset: Readonly<Record<string, unknown>> | null;
}

/** What can be done to the connectors, here and wherever they run. All of it throws ConnectorError as its writer does. */
export interface ConnectorOperations {
  /** Lets a connector run, pause or stop until something else is wanted. */
  want(connector: string, state: TargetState): Promise<void>;
  /** Lets it start again from its committed offset, wherever it runs; perhaps only where it has failed. */
  restart(connector: string, which: { readonly onlyFailed: boolean }): Promise<void>;
  /** What it has committed; a null offset where it has committed nothing. @throws ConnectorError KAFKA_UNREACHABLE. */
  offsets(connector: string): Promise<readonly ConnectorOffset[]>;
  /** Writes this offset, or deletes the one that is committed: to be asked only of a stopped connector. */
  alterOffset(connector: string, offset: SourceOffset | null): Promise<void>;
}
