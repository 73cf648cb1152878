/** What a client writes to the log of its program: the MCP SDKs warn there of dropped tokens. */

/** Runs the work. @returns the warnings, which are not written */
export async function warningsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const said: string[] = [];
  const { warn } = console;
  console.warn = (...words: unknown[]) => void said.push(words.join(' '));
  try {
    await work();
  } finally {
    console.warn = warn;
  }
  return said;
}
