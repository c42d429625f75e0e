import { testKafkaContract } from '../support/kafka-contract.ts';
import { kafkaOrSkip } from '../support/kafka-real.ts';

testKafkaContract('kafka', async (t) => {
  const kafka = await kafkaOrSkip(t);
  return kafka && { cluster: kafka.connect(), leaveOpen: kafka.leaveOpen };
});
