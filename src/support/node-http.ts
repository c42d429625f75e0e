/** An `import` of Node.js' own HTTP would load all of fetch as well: 25 ms of each start. */
export const http = process.getBuiltinModule('node:http');
