import { eventually } from '../runner/eventually.ts';
import { API_KEYS } from './kafka-wire.ts';
import { exchange } from './kafka-wire-log.ts';
import { createWireReader, createWireWriter } from './kafka-wire-primitives.ts';

const METADATA_VERSION = 4;

/**
 * The leader of the partition, `host:port`, as `broker` reports it; asks again until that broker knows one. Like the look
 * at a partition, it is independent of the clients that are tested.
 */
export async function leaderOf(broker: string, topic: string, partition: number): Promise<string> {
  const leader = await eventually(
    `${broker} knows who leads ${topic}/${partition}`,
    () => askForLeader(broker, topic, partition),
    (found) => found !== undefined,
  );
  return leader ?? '';
}

async function askForLeader(broker: string, topic: string, partition: number): Promise<string | undefined> {
  const request = createWireWriter()
    .int16(API_KEYS.Metadata)
    .int16(METADATA_VERSION)
    .int32(1)
    .string('oracle')
    .int32(1)
    .string(topic)
    .int8(0) // creates no topic
    .frame();
  const answer = createWireReader(await exchange(broker, request));
  answer.skip(4 + 4); // correlation id, throttle time
  const brokers = new Map<number, string>();
  for (let left = answer.int32(); left > 0; left -= 1) {
    const id = answer.int32();
    brokers.set(id, `${answer.string()}:${answer.int32()}`);
    answer.skip(Math.max(0, answer.int16())); // rack
  }
  answer.skip(Math.max(0, answer.int16())); // cluster id
  answer.skip(4 + 4); // controller, count of topics
  if (answer.int16() !== 0) return undefined;
  answer.string();
  answer.skip(1); // internal
  for (let left = answer.int32(); left > 0; left -= 1) {
    const [error, id, leader] = [answer.int16(), answer.int32(), answer.int32()];
    for (const _list of ['replicas', 'in sync']) answer.skip(4 * answer.int32());
    if (id === partition) return error === 0 ? brokers.get(leader) : undefined;
  }
  return undefined;
}
