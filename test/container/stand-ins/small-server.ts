import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addNode } from './node.ts';
import type { StandIn } from './stand-in.ts';

/** A program of this folder under Node.js, for what is no real program here. */
export function smallServer(options: {
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
