#!/bin/sh
# Runs before each of npm's scripts. Installs the packages if the lockfile is newer than the installed packages, then
# checks that this Node.js is new enough. This is a file, not a script of npm, because each start of npm takes a third
# of a second. .npmrc disables npm's warnings about an old Node.js. On Linux, the packages contain a newer Node.js.
# Elsewhere, the last line of this file prints one message.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts || exit
# `node --version` runs no JavaScript, and takes a tenth of the time of require-node.js. That file checks all versions
# below 23 exactly.
case $(node --version) in v2[3-9].* | v[3-9]?.*) exit ;; esac
exec node src/bin/require-node.js
