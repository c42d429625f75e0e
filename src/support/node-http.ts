/** Node.js' module `node:http`. An `import` of `node:http` would also load fetch, which takes 25 ms at each start. */
export const http = process.getBuiltinModule('node:http');
