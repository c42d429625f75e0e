// Ends the process with one sentence where Node.js is too old. Written so that an old one can read it.

const OLDEST = [22, 22];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `Node.js ${OLDEST.join('.')} or later is required, but ${process.execPath} is ${process.version}. Put a newer Node.js on the PATH.\n`,
  );
  process.exit(1);
}
