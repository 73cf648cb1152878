#!/usr/bin/env node
/**
 * `mandate`. Static imports are parsed before the first line runs, and an old Node cannot parse them: this file has none,
 * checks the version, and only then loads the command line. It uses only syntax that Node 12 reads.
 */

/** `engines` in package.json. */
const OLDEST_MAJOR = 20;
const OLDEST_MINOR = 19;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > OLDEST_MAJOR || (major === OLDEST_MAJOR && minor >= OLDEST_MINOR)) {
  import('./commands/command-line.ts');
} else {
  process.stderr.write(
    `mandate: Mandate needs Node ${OLDEST_MAJOR}.${OLDEST_MINOR} or newer; this is ${process.versions.node}.\n`,
  );
  process.exitCode = 1;
}
