// A program for one test: a member of a group that answers each record of its input once, until it is killed.
// Arguments: `host:port` of a broker, the input topic, the output topic.

import { randomUUID } from 'node:crypto';
import { connectKafka } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { answerInputs } from './answering-member.ts';

const [, , broker = '', input = '', output = ''] = process.argv;
const silent = () => undefined;
const cluster = connectKafka({
  brokers: [broker],
  clientId: `answering-${randomUUID()}`,
  clock: systemClock,
  random: Math.random,
  log: { debug: silent, info: silent, warn: silent, error: silent },
});
answerInputs({
  cluster,
  input,
  output,
  signal: new AbortController().signal,
  onAssigned: ({ partition }) => process.stdout.write(`${partition}\n`),
});
