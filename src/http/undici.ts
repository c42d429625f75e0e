import { createRequire } from 'node:module';
import type * as Undici from 'undici';

// By file, and not by undici's index, which loads its fetch, WebSocket, caches and mocks too: 60 ms of each start.
const require = createRequire(import.meta.url);
const Dispatcher: typeof Undici.Dispatcher = require('undici/lib/dispatcher/dispatcher');
// The index does the same. Its own proxy agent needs it too.
Object.assign(Dispatcher.prototype, require('undici/lib/api'));

export const Pool: typeof Undici.Pool = require('undici/lib/dispatcher/pool');
export const ProxyAgent: typeof Undici.ProxyAgent = require('undici/lib/dispatcher/proxy-agent');
