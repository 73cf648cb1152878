/** The exit codes of every command. A command may define more codes from 3 on, and lists them in its help. */
export const exitCode = {
  done: 0,
  /** The command failed. */
  failed: 1,
  /** The command line itself is wrong; nothing was tried. */
  usage: 2,
} as const;
