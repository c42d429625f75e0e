#!/usr/bin/env node
import './require-node.js';

// Loaded only now: an old Node.js cannot read TypeScript.
await import('../main.ts');
