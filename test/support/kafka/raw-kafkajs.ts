import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Admin } from 'kafkajs';

type Kafkajs = typeof import('kafkajs');

const require = createRequire(import.meta.url);

/**
 * kafkajs as it is published: a copy of the installed package with modules of its own, so that no patch loaded into
 * this process reaches it. (Clearing the module cache would not do: kafkajs loads its protocol files when first used.)
 */
export function loadRawKafkajs(): Kafkajs {
  const installed = dirname(require.resolve('kafkajs/package.json'));
  const copy = mkdtempSync(join(tmpdir(), 'raw-kafkajs-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  for (const part of ['package.json', 'index.js', 'src']) {
    cpSync(join(installed, part), join(copy, part), { recursive: true });
  }
  return require(copy) as Kafkajs;
}

export async function setTopic(admin: Admin, name: string, setting: string, value: string): Promise<void> {
  const { ConfigResourceTypes } = require('kafkajs') as Kafkajs;
  const configEntries = [{ name: setting, value }];
  const resources = [{ type: ConfigResourceTypes.TOPIC, name, configEntries }];
  await admin.alterConfigs({ validateOnly: false, resources });
}
