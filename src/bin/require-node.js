// Ends the process with one sentence if Node.js is too old. An old Node.js can read this file.

const OLDEST = [22, 22];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `Node.js ${OLDEST.join('.')} or later is required, but ${process.execPath} is ${process.version}. Put a newer Node.js on the PATH.\n`,
  );
  process.exit(1);
}
