/** What the server behind the guard answers in the benchmark (guarded-upstream.ts). */

/** The first event of a stream, and the last. */
export const FIRST_EVENT = 'data: first\n\n';
export const SHORT_ANSWER = JSON.stringify({ answer: 'x'.repeat(200) });
