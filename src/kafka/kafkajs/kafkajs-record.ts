import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { CommittedRecord } from '../record.ts';

/** Converts a record of kafkajs' consumers to ours. */
export function committedRecord(topic: string, partition: number, message: KafkaMessage): CommittedRecord {
  return {
    topic,
    partition,
    key: message.key,
    value: message.value,
    headers: headerTexts(message.headers),
    offset: BigInt(message.offset),
    timestampMs: Number(message.timestamp),
  };
}

/** Of a repeated header, the last one. */
function headerTexts(headers: IHeaders | undefined): Record<string, string> {
  const texts = Object.entries(headers ?? {}).map(([name, value]) => [name, String([value].flat().at(-1) ?? '')]);
  return Object.fromEntries(texts);
}
