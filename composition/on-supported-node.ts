/**
 * Loads a program if this Node is new enough for it. An old Node cannot parse the rest of the program. So this file uses only
 * syntax that Node 12 reads, imports nothing, and the program loads everything else inside `load`.
 */

/** `engines` in package.json. */
const OLDEST_MAJOR = 20;
const OLDEST_MINOR = 19;

/**
 * Otherwise says which version is needed, and lets the process exit with 1.
 *
 * @param program its command
 * @param name its name in a sentence
 */
export function onSupportedNode(program: string, name: string, load: () => void): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_MAJOR || (major === OLDEST_MAJOR && minor >= OLDEST_MINOR)) {
    load();
  } else {
    process.stderr.write(
      `${program}: ${name} needs Node ${OLDEST_MAJOR}.${OLDEST_MINOR} or newer; this is ${process.versions.node}.\n`,
    );
    process.exitCode = 1;
  }
}
