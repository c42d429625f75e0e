// Stands in for Grafana: reads what is mounted where Grafana's own configuration has it, and answers two of its paths.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answering } from './answering.ts';

const PROVISIONING = '/etc/grafana/provisioning';
const TIMEOUT_MS = 3_000;

/** The values of a key in every file of a folder of settings. */
async function values(folder: string, key: string): Promise<string[]> {
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) =>
    [...text.matchAll(new RegExp(`\\b${key}: ([^\\s}]+)`, 'g'))].map(([, value = '']) => value),
  );
}

async function dashboards(): Promise<object[]> {
  const folders = await values(join(PROVISIONING, 'dashboards'), 'path');
  const files = await Promise.all(
    folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))),
  );
  const texts = await Promise.all(
    files
      .flat()
      .filter((file) => file.endsWith('.json'))
      .map((file) => readFile(file, 'utf8')),
  );
  return texts.map((text) => {
    const { uid, title } = JSON.parse(text) as { uid: string; title: string };
    return { uid, title, type: 'dash-db' };
  });
}

/** Each address of a data source, and whether Prometheus answers a query there. */
async function dataSources(): Promise<string[]> {
  const urls = await values(join(PROVISIONING, 'datasources'), 'url');
  for (const url of urls) {
    const answer = await fetch(`${url}/api/v1/query?query=up`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  }
  return urls;
}

answering(3000, {
  '/api/health': async () => {
    const [found, sources] = [await dashboards(), await dataSources()];
    if (found.length === 0 || sources.length === 0) throw new Error('no dashboard or no data source is provisioned');
    return { database: 'ok', version: 'stand-in' };
  },
  '/api/search': dashboards,
});
