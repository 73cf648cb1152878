/**
 * The code of a failed exchange, or the name of its error. The messages of Node's clients can quote an answer, so they are
 * shown nowhere. `fetch` has the system's error as the cause.
 */
export function faultCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return codeOf(error) ?? codeOf(error.cause) ?? error.name;
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  // `fetch` has no code for some faults of its parser, and writes one of `undefined`.
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code) ? code : undefined;
}
