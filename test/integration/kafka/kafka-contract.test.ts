import { testKafkaContract } from '../../support/kafka/kafka-contract.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';

testKafkaContract('kafka', async (t) => {
  const kafka = await kafkaOrSkip(t);
  return kafka && { cluster: kafka.connect(), leaveOpen: kafka.leaveOpen };
});
