/** What the guard's file says about the JSON of a call: `arguments`, which it must meet, and `unless`, which needs no yes. */

import type { SentJson } from '../../../../domain/tokens/json-as-sent.ts';
import type { Json } from '../../../../domain/tokens/strict-json.ts';
import type { NotNeeded } from '../core/approval-text.ts';
import { shownPart } from '../core/call-parts.ts';
import { RefusedCall } from '../core/refusal.ts';
import { refusedPart } from '../schema/refused-part.ts';
import type { CompileSchema, Path, SchemaRules } from '../schema/rules.ts';
import { ambiguousPart, roundedPart, takenForOneOf } from './misread-parts.ts';
import type { GuardPolicy } from './value-kinds.ts';

/** @returns why the call is refused; `undefined` if it is not */
export type CheckArguments = (value: Json, sent: SentJson) => RefusedCall | 'policy_unavailable' | undefined;

/** @returns `undefined` if the schema does not cover the call, or other readers read it otherwise */
export type Covers = (value: Json, sent: SentJson) => NotNeeded | 'policy_unavailable' | undefined;

export interface CallRules {
  /** `undefined` without `arguments`. */
  readonly checkArguments: CheckArguments | undefined;
  /** Decides which calls need no yes; `undefined` without `unless`. */
  readonly covers: Covers | undefined;
  /** The names of the policy's schemas and lines. Answers repeat no others. */
  readonly known: ReadonlySet<string>;
}

/** @throws Error if the policy has a schema, but there is nothing to compile it */
export function callRules(
  approval: GuardPolicy['approval'],
  schema: GuardPolicy['arguments'],
  compile: CompileSchema | undefined,
): CallRules {
  const compiled = (given: Json | undefined): SchemaRules | undefined => {
    if (given === undefined) return undefined;
    if (compile === undefined) throw new Error('The guard read a file with a schema, and nothing compiles it.');
    return compile(given);
  };
  const [rules, unless] = [compiled(schema), compiled(approval?.unless)];
  const ofLines = (approval?.lines ?? []).flatMap(({ path }) => path.filter((step) => typeof step === 'string'));
  const known = new Set([...(rules?.names ?? []), ...(unless?.names ?? []), ...ofLines]);
  return { checkArguments: rules && argumentCheck(rules, known), covers: unless && covering(unless), known };
}

function argumentCheck(rules: SchemaRules, known: ReadonlySet<string>): CheckArguments {
  const namedAlike = takenForOneOf(rules.names);
  return (value, sent) => {
    const alike = namedAlike(sent);
    const problem = problemOfReading(sent, known) ?? (alike && problemOfName(alike, known));
    if (problem !== undefined) return new RefusedCall(problem);
    const verdict = rules.decide(value);
    if (verdict === 'valid') return undefined;
    if (verdict === 'late') return 'policy_unavailable';
    if ('taken' in verdict) return new RefusedCall(problemOfName(verdict.taken, known));
    return refusedPart(verdict, known);
  };
}

function covering(rules: SchemaRules): Covers {
  const namedAlike = takenForOneOf(rules.names);
  return (value, sent) => {
    if (roundedPart(sent) !== undefined || ambiguousPart(sent) !== undefined || namedAlike(sent) !== undefined) {
      return undefined;
    }
    const verdict = rules.decide(value);
    if (verdict === 'valid') return 'not_needed';
    return verdict === 'late' ? 'policy_unavailable' : undefined;
  };
}

function problemOfReading(sent: SentJson, known: ReadonlySet<string>): string | undefined {
  const rounded = roundedPart(sent);
  if (rounded !== undefined) return `Some readers round a number: ${shownPart(rounded, known)}.`;
  const alike = ambiguousPart(sent);
  return alike && `Some readers take two names for one: ${shownPart(alike, known)}.`;
}

/** @param path with the name of the schema, if it has one, in place of that of the call */
function problemOfName(path: Path, known: ReadonlySet<string>): string {
  return `Some readers take another name for this one: ${shownPart(path, known)}.`;
}
