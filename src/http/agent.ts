import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { http } from '../support/node-http.ts';
import { type NetworkOptions, proxyFor, secureContextOf } from './dispatcher.ts';

/** Connections for a library that speaks HTTP by Node.js' own client: the same authorities, certificate and proxy as ours. */
export async function openAgent(address: URL, network: NetworkOptions): Promise<Agent> {
  const current = { ...network, ...(await network.files?.get()) };
  const proxy = proxyFor(address, current);
  const proxied = proxy === null ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } };
  if (address.protocol === 'http:') return new http.Agent(proxied);
  return new HttpsAgent({ rejectUnauthorized: true, ...secureContextOf(current), ...proxied });
}
