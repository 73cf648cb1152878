/**
 * Runs decisions on SQLite: reads facts, judges, applies effects. It takes no locks: one write transaction runs at a time.
 */

import type { Questions } from '../../../application/decisions/fact.ts';
import type { Decisions } from '../../../application/ports/decisions.ts';
import type { Connection } from './connection.ts';
import { applyEffects } from './effects.ts';
import { readFact } from './facts.ts';
import type { Run } from './handle.ts';
import { ENDING_LIMIT_MS } from './limits.ts';

/** @param endingLimitMs how long a decision that ends very many tasks may take */
export function sqliteDecisions(connection: Connection, endingLimitMs: number = ENDING_LIMIT_MS): Decisions {
  return {
    decide: (decision, input) =>
      connection.write((run) => {
        const deadline = performance.now() + endingLimitMs;
        const { verdict, effects } = decision.judge(input, readFacts(run, decision.asks(input)));
        applyEffects(run, effects, deadline);
        return verdict;
      }),
  };
}

function readFacts(run: Run, asked: Questions): Readonly<Record<string, unknown>> {
  const facts: Record<string, unknown> = {};
  for (const [name, question] of Object.entries(asked)) {
    if (question === undefined) continue;
    facts[name] = 'fact' in question ? readFact(run, question) : question.map((each) => each && readFact(run, each));
  }
  return facts;
}
