import { testGroupContract } from '../../support/kafka/kafka-contract-group.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';

testGroupContract('memory', async () => {
  const broker = new MemoryBroker(() => 1);
  return {
    cluster: createMemoryCluster({ broker }),
    async leaveOpen(transactionalId, records) {
      broker.append(transactionalId, broker.initProducer(transactionalId), records);
    },
  };
});
