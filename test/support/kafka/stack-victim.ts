// A program that starts a Kafka, reports where it is, and stays until it is killed. Run by a test that kills it.

import { startKafka } from '../../../src/dev/local-stack/kafka-cluster.ts';
import { systemClock } from '../../../src/support/clock.ts';

const kafka = await startKafka({
  env: process.env,
  clock: systemClock,
  onProgress: () => undefined,
  signal: new AbortController().signal,
});
process.stdout.write(`${JSON.stringify({ pids: kafka.pids(), brokers: kafka.brokers })}\n`);
