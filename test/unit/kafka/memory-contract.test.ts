import { testKafkaContract } from '../../support/kafka/kafka-contract.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';

testKafkaContract('memory', async () => {
  const broker = new MemoryBroker(() => 1);
  return {
    cluster: createMemoryCluster({ broker }),
    async leaveOpen(transactionalId, records) {
      broker.append(transactionalId, broker.initProducer(transactionalId), records);
    },
    async deleteTopic(name) {
      broker.deleteTopic(name);
    },
  };
});
