import { Agent, get } from 'node:http';
import { startSimulatorProcess } from '../support/connector-process.ts';
import { processUsage } from './process-usage.ts';

const INSTRUMENTS = 50_000;
const LINKS_BYTES = 1_024;

export interface ProviderFigures {
  readonly instruments: number;
  /** Read by a client that does nothing with it. */
  readonly jsonMegabytesPerSecond: number;
  /** Of the provider's process, whatever else the machine does meanwhile. */
  readonly megabytesPerCpuSecond: number;
}

/** How fast the simulated provider serves its list: it must never be what a walk waits for. */
export async function benchProvider(): Promise<ProviderFigures> {
  const env = { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.NODE_OPTIONS ?? '' };
  const simulator = startSimulatorProcess(INSTRUMENTS, env);
  const agent = new Agent({ keepAlive: true });
  try {
    const addresses = JSON.parse(await simulator.line('referenceDataUrl')) as Record<string, string>;
    const authorization = await bearer(addresses);
    const list = `${addresses.referenceDataUrl}/v1/instruments`;
    // Once without looking, until everything is compiled.
    await readList(list, { agent, headers: { authorization } });
    const usedBefore = processUsage(simulator.child.pid ?? 0).cpuSeconds;
    const startedMs = performance.now();
    const megabytes = (await readList(list, { agent, headers: { authorization } })) / 1e6;
    const seconds = (performance.now() - startedMs) / 1_000;
    const cpuSeconds = processUsage(simulator.child.pid ?? 0).cpuSeconds - usedBefore;
    return {
      instruments: INSTRUMENTS,
      jsonMegabytesPerSecond: Math.round(megabytes / seconds),
      megabytesPerCpuSecond: Math.round(megabytes / cpuSeconds),
    };
  } finally {
    agent.destroy();
    simulator.child.kill('SIGTERM');
    await simulator.ended;
  }
}

async function bearer({ tokenUrl = '', clientId = '', clientSecret = '' }: Record<string, string>): Promise<string> {
  const form = { grant_type: 'client_credentials', scope: 'openid', client_id: clientId, client_secret: clientSecret };
  const answer = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
  return `Bearer ${((await answer.json()) as { access_token: string }).access_token}`;
}

/** Follows links.next to the end of the list; gives the length of all pages. */
async function readList(list: string, options: object): Promise<number> {
  let bytes = 0;
  for (let next: string | undefined = list; next !== undefined; ) {
    const page: { readonly bytes: number; readonly links: string } = await readPage(new URL(next, list), options);
    bytes += page.bytes;
    next = /"next":"([^"]+)"/.exec(page.links)?.[1];
  }
  return bytes;
}

function readPage(url: URL, options: object): Promise<{ readonly bytes: number; readonly links: string }> {
  return new Promise((resolve, reject) => {
    const asked = get(url, options, (answer) => {
      let bytes = 0;
      let end = Buffer.alloc(0);
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        end = Buffer.concat([end, chunk.subarray(-LINKS_BYTES)]).subarray(-LINKS_BYTES);
      });
      answer.once('error', reject);
      answer.once('end', () => resolve({ bytes, links: end.toString('latin1') }));
    });
    asked.once('error', reject);
  });
}
