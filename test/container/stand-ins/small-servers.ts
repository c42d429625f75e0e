import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addNode } from './node.ts';
import type { StandIn } from './stand-in.ts';

/** A program of this folder under Node.js, for what is no real program here. */
function smallServer(options: {
  /** What it is, and is not, for the output. */
  readonly what: string;
  readonly program: string;
  readonly user: number;
  readonly port: number;
}): StandIn {
  const { what, program, user, port } = options;
  return {
    what,
    changes: [`USER ${user}`, `EXPOSE ${port}`, `CMD ["node","/${program}"]`],
    async fill(root) {
      await addNode(root);
      for (const file of [program, 'answering.ts']) {
        await copyFile(new URL(file, import.meta.url), join(root, file));
      }
    },
  };
}

export const grafana = smallServer({
  what: 'NO Grafana, but a server that reads the provisioning and the dashboards where Grafana would, and asks the data source',
  program: 'grafana-server.ts',
  user: 472,
  port: 3000,
});

export const kafkaUi = smallServer({
  what: 'NO Kafka UI, but a server that calls the connector, the registry and the broker that its variables name',
  program: 'kafka-ui-server.ts',
  user: 100,
  port: 8080,
});
