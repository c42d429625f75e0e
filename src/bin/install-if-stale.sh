#!/bin/sh
# Before each of npm's scripts: the packages, where the lockfile is newer than what is installed, and then whether this
# Node.js is new enough. A file and not a script of its own, as each start of npm takes a third of a second. .npmrc leaves out
# warnings about an old Node.js: on Linux the packages bring a newer one, and elsewhere the last line says it once.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts || exit
# `node --version` starts no JavaScript: a tenth of what the next line takes, which asks again for each version below 23.
case $(node --version) in v2[3-9].* | v[3-9]?.*) exit ;; esac
exec node src/bin/require-node.js
