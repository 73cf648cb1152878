/** Reads one answer of an MCP server on its way to the client. */

export interface AnswerReader {
  /** Whether it may remove a part of the answer: then the length is unknown when the answer begins. */
  readonly mayShorten: boolean;
  /** The type of what passes, in place of the server's. */
  readonly contentType?: string | undefined;
  /** @returns the bytes for the client, or `undefined` to cut the answer */
  take(chunk: Buffer): Buffer | undefined;
  end(): Buffer | undefined;
  /** Whether no part of the rest can pass. */
  isOver?(): boolean;
}

/** The second reader gets what the first one passes on. */
export function inTurn(first: AnswerReader, second: AnswerReader): AnswerReader {
  const afterFirst = (passed: Buffer | undefined) => passed && second.take(passed);
  return {
    mayShorten: first.mayShorten || second.mayShorten,
    contentType: second.contentType ?? first.contentType,
    take: (chunk) => afterFirst(first.take(chunk)),
    end() {
      const last = afterFirst(first.end());
      const rest = last && second.end();
      return rest && last && Buffer.concat([last, rest]);
    },
    isOver: () => second.isOver?.() === true,
  };
}
