#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import './require-node.js';

// Node keeps the compiled code, so that the next start takes half the time. The cache lies beside the packages: only
// users who can change the code can write there. If nobody can write there, Node keeps nothing. The cache is enabled
// before the first TypeScript file: Node then does not load its TypeScript parser, which takes a tenth of a start.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/spconnect', import.meta.url)));

// Loaded only now: an old Node.js cannot read TypeScript.
await import('../main.ts');
