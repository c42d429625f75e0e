import { testKafkaContract } from '../../support/kafka/kafka-contract.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';

testKafkaContract('kafka', async (t) => {
  const kafka = await kafkaOrSkip(t);
  if (kafka === undefined) return undefined;
  const admin = kafka.plain().admin();
  t.after(() => admin.disconnect());
  return {
    cluster: kafka.connect(),
    leaveOpen: kafka.leaveOpen,
    async deleteTopic(name) {
      await admin.connect();
      await admin.deleteTopics({ topics: [name] });
    },
  };
});
