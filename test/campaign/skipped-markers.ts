import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Has a broker write to its log what it does with transactions, in a few lines for each start. */
export const TRANSACTION_LOG_FLAGS = ['-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction=info'];

const SKIPPED = "Couldn't find leader endpoint for partitions";

/**
 * How often a coordinator took partitions for deleted while they had no leader yet, and wrote no end of a transaction there
 * (KAFKA-20734). Most often it then finds that it is no coordinator any more and does all of it again; when not, an
 * acknowledged commit is left open in these partitions for ever.
 */
export function skippedMarkers(dataFolder: string, nodes: number): number {
  const logs = Array.from({ length: nodes }, (_none, index) => join(dataFolder, `kafka-broker-${index + 1}.log`));
  return logs.reduce((sum, file) => sum + countSkipped(readFileSync(file, 'utf8')), 0);
}

/** In the text of one broker's log. */
export function countSkipped(log: string): number {
  return log.split(SKIPPED).length - 1;
}
