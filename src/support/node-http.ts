/** Node.js' HTTP module. An `import` of this module also loads fetch, which adds 25 ms to each start. */
export const http = process.getBuiltinModule('node:http');
