/** Not imported, because an `import` of Node.js' HTTP also loads fetch, which adds 25 ms to each start. */
export const http = process.getBuiltinModule('node:http');
