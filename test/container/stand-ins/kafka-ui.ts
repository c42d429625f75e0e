import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addNode } from './node.ts';
import type { StandIn } from './stand-in.ts';

const PROGRAM = new URL('./kafka-ui-server.ts', import.meta.url).pathname;

export const kafkaUi: StandIn = {
  what: 'NO Kafka UI, but a server that calls the connector, the registry and the broker that its variables name',
  changes: ['USER 100', 'EXPOSE 8080', 'CMD ["node","/kafka-ui-server.ts"]'],
  async fill(root) {
    await addNode(root);
    await copyFile(PROGRAM, join(root, 'kafka-ui-server.ts'));
  },
};
