/** The exit codes of every command. A command may add codes from 3 on, and lists them in its help. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** The command line is wrong. The command did nothing. */
  usage: 2,
} as const;
