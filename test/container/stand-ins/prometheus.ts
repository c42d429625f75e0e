import { join } from 'node:path';
import { ConnectorError } from '../../../src/errors.ts';
import { prometheusPrograms } from '../../support/documents/promtool.ts';
import { addLibraries, makeWritable, putProgram } from '../machine-root.ts';
import { findProgram } from '../run.ts';
import type { StandIn } from './stand-in.ts';

export const prometheus: StandIn = {
  what: "a real Prometheus, Debian's or the one on the path, perhaps of another version",
  changes: [
    'USER nobody',
    'EXPOSE 9090',
    'VOLUME /prometheus',
    'WORKDIR /prometheus',
    'ENTRYPOINT ["/bin/prometheus"]',
    'CMD ["--config.file=/etc/prometheus/prometheus.yml","--storage.tsdb.path=/prometheus"]',
  ],
  async fill(root) {
    const program = (await findProgram('prometheus')) ?? join(await downloaded(), 'prometheus');
    await putProgram(program, join(root, 'usr/bin/prometheus'));
    await addLibraries(root, [program]);
    await makeWritable(root, 'prometheus');
  },
};

async function downloaded(): Promise<string> {
  try {
    return await prometheusPrograms();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.slice(0, 300) : String(cause);
    throw new ConnectorError('STACK_UNAVAILABLE', `Prometheus is not on the path, and Debian's package: ${why}`, {
      cause,
    });
  }
}
