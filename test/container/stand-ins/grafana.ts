import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addNode } from './node.ts';
import type { StandIn } from './stand-in.ts';

const PROGRAM = new URL('./grafana-server.ts', import.meta.url).pathname;

export const grafana: StandIn = {
  what: 'NO Grafana, but a server that reads the provisioning and the dashboards where Grafana would, and asks the data source',
  changes: ['USER 472', 'EXPOSE 3000', 'CMD ["node","/grafana-server.ts"]'],
  async fill(root) {
    await addNode(root);
    await copyFile(PROGRAM, join(root, 'grafana-server.ts'));
  },
};
