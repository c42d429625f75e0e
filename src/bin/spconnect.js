#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import './require-node.js';

// What is compiled is kept for the next start, which loads all in half the time. Beside the packages, where only
// users can write who could change the code itself; where none can, nothing is kept. Here, before the first file in
// TypeScript: with the cache, none has to be read by Node's TypeScript parser, which takes a tenth of a start to load.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/spconnect', import.meta.url)));

// Loaded only now: an old Node.js cannot read TypeScript.
await import('../main.ts');
