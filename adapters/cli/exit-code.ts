/** What the process ends with. A command may add codes of its own from 3 on, and says so in its help. */
export const exitCode = {
  done: 0,
  /** The command could not do what it is for. */
  failed: 1,
  /** The command line itself is wrong; nothing was tried. */
  usage: 2,
} as const;
