/** Asks once, at a terminal, before a command ends or blocks something. */

import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stderr: Writable;
}

/** `no_terminal`: standard input cannot be asked. @returns `no` unless the answer is `yes`, the word that the question asks for */
export async function confirm(question: string, { stdin, stderr }: Terminal): Promise<'yes' | 'no' | 'no_terminal'> {
  if (stdin.isTTY !== true) return 'no_terminal';
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    // The input may end instead of answering.
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    const answer = await Promise.race([lines.question(`${question} Type yes to go on: `), ended]);
    return answer.trim().toLowerCase() === 'yes' ? 'yes' : 'no';
  } finally {
    lines.close();
  }
}
