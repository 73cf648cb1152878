/** Checks and shows the refusals that the quickstart expects: a response, or an error of the agent's library. */

import { type Answer, outcome, text } from './http.ts';
import { must, StoryBroke } from './story-broke.ts';
import type { Terminal } from './terminal.ts';

/** @param expected status and error code, in the form of `outcome` */
export function showRefusal(terminal: Terminal, what: string, answer: Answer, expected: string): void {
  must(outcome(answer) === expected, `${what} should be answered ${expected}, not ${outcome(answer)}.`);
  terminal.refused(`${what}: ${expected}. "${text(answer, 'error_description')}"`);
}

/**
 * Checks and shows the refusal of a tool server.
 *
 * @param expected status and reason, for example `401 expired`
 */
export function showToolRefusal(terminal: Terminal, what: string, answer: Answer, expected: string): void {
  const was = `${answer.status} ${String(answer.body.reason ?? '')}`.trim();
  must(was === expected, `${what} should be answered ${expected}, not ${was}.`);
  terminal.refused(`${what}: ${expected}. "${text(answer, 'error_description')}"`);
}

/** Returns the error of an attempt that must fail with an error of this class. */
export async function thrownBy<Thrown extends Error>(
  kind: new (...given: never[]) => Thrown,
  what: string,
  attempt: () => Promise<unknown>,
): Promise<Thrown> {
  const thrown = await attempt().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof kind) return thrown;
  throw new StoryBroke(`${what} should be refused with ${kind.name}, not ${String(thrown ?? 'allowed')}.`);
}
