import { testGroupContract } from '../../support/kafka/kafka-contract-group.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';

testGroupContract('kafka', async (t) => {
  const kafka = await kafkaOrSkip(t);
  return kafka && { cluster: kafka.connect(), leaveOpen: kafka.leaveOpen };
});
