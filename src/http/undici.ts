import { createRequire } from 'node:module';
import type * as Undici from 'undici';

// By file, and not by undici's index, which loads its fetch, WebSocket, caches and mocks too: 60 ms of each start.
const require = createRequire(import.meta.url);
const Dispatcher: typeof Undici.Dispatcher = require('undici/lib/dispatcher/dispatcher');
// The index does the same with all of undici's ways to ask.
Object.assign(Dispatcher.prototype, { request: require('undici/lib/api/api-request') });

export const Pool: typeof Undici.Pool = require('undici/lib/dispatcher/pool');
export const ProxyAgent: typeof Undici.ProxyAgent = require('undici/lib/dispatcher/proxy-agent');
