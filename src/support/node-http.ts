/**
 * Node.js' own HTTP. Not by `import`, which reads each export, and so loads what is behind `WebSocket`: all of fetch, 25 ms
 * of each start.
 */
export const http = process.getBuiltinModule('node:http');
