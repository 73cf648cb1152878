/** The second validation of a registration (specification "Validation errors"): all rules, and a test of each key. */

import { judgeKeySource } from '../../domain/agents/field-rules.ts';
import {
  judgeRegistration,
  type RegistrationRules,
  type RegistrationVerdict,
} from '../../domain/agents/registration.ts';
import { fieldNames, type RegistrationDraft } from '../../domain/agents/registration-draft.ts';
import { fieldErrors } from '../../domain/field-error.ts';
import type { AgentKeys } from '../ports/keys.ts';

export interface RegistrationJudgement {
  readonly agentKeys: Pick<AgentKeys, 'isUsable'>;
  readonly rules: RegistrationRules;
}

export async function judgeDraft(
  { agentKeys, rules }: RegistrationJudgement,
  draft: RegistrationDraft,
): Promise<RegistrationVerdict> {
  const verdict = judgeRegistration(draft, rules);
  const keySource = judgeKeySource(draft, rules.issuer);
  if (keySource.kind === 'refused' || keySource.source.kind === 'remote') return verdict;
  const { keys } = keySource.source.jwks;
  const usable = await Promise.all(keys.map((key) => agentKeys.isUsable(key)));
  const problems = usable.flatMap((works, index) =>
    works ? [] : [`keys[${index}] is not a key that a signature can be verified with.`],
  );
  if (problems.length === 0) return verdict;
  const others = verdict.kind === 'invalid' ? verdict.errors : [];
  return { kind: 'invalid', errors: [...others, ...fieldErrors(fieldNames.jwks, ...problems)] };
}
