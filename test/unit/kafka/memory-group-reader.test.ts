import { MemoryBroker } from '../../../src/kafka/memory-broker.ts';
import { createMemoryCluster } from '../../../src/kafka/memory-cluster.ts';
import { testGroupContract } from '../../support/kafka-contract-group.ts';

testGroupContract('memory', async () => {
  const broker = new MemoryBroker(() => 1);
  return {
    cluster: createMemoryCluster({ broker }),
    async leaveOpen(transactionalId, records) {
      broker.append(transactionalId, broker.initProducer(transactionalId), records);
    },
  };
});
