/**
 * The rules for single fields of a registration, and for the source of its keys (specification "Agent registration";
 * supplement "Agents"). An error sentence never repeats a value: it names a list item by its position.
 *
 * A request body holds at most 64 KiB; these limits leave room for any realistic agent.
 */

import { audienceProblem, jwksUriProblem } from '../address.ts';
import { hasControlOrSeparator } from '../control-characters.ts';
import { type FieldError, fieldErrors } from '../field-error.ts';
import { type AgentId, namesAgent, parseAgentId } from '../identifiers.ts';
import { isScopeToken } from '../scope.ts';
import { isBlank } from '../visible.ts';
import type { AgentKeySource } from './agent.ts';
import { checkJwkSet } from './key-set.ts';
import { MAX_MAY_ACT_LENGTH, type MayActName, mayActNameText } from './may-act-name.ts';
import { redirectUriProblem } from './redirect-uri.ts';
import { fieldNames, type RegistrationDraft } from './registration-draft.ts';

/** Fits on one line of an operator's screen. */
const MAX_DISPLAY_NAME_LENGTH = 256;
/** Tokens and requests carry scopes; a scope of a hundred characters is already unusual. */
const MAX_SCOPE_LENGTH = 256;
const MAX_SCOPES = 1000;
const MAX_AUDIENCES = 1000;
/** An agent is a few clients of the identity provider, if more than one. */
const MAX_MAY_ACT_NAMES = 16;
/** One agent is a few programs, each with a few addresses. */
const MAX_REDIRECT_URIS = 16;
const MAX_CLIENT_NAMES = 16;
const MAX_DELEGATES = 100;
/** An error response names at most this many items of a list, so that a bad list cannot make it huge. */
const MAX_NAMED_ITEMS = 10;

export function displayNameProblems(text: string): readonly string[] {
  const usable =
    !isBlank(text) && text.length <= MAX_DISPLAY_NAME_LENGTH && text.isWellFormed() && !hasControlOrSeparator(text);
  return usable
    ? []
    : [`Must be 1 to ${MAX_DISPLAY_NAME_LENGTH} characters, not all of them blank and none a control character.`];
}

export function scopeProblems(scopes: readonly string[]): readonly string[] {
  const unusable = (scope: string) => scope.length > MAX_SCOPE_LENGTH || !isScopeToken(scope);
  return [
    ...(scopes.length === 0 ? ['Must name at least one scope.'] : []),
    ...(scopes.length > MAX_SCOPES ? [`Must name at most ${MAX_SCOPES} scopes.`] : []),
    ...itemProblems(scopes, (scope) =>
      unusable(scope)
        ? `must be 1 to ${MAX_SCOPE_LENGTH} printable ASCII characters without space, double quote and backslash`
        : undefined,
    ),
    ...duplicateProblems(scopes),
  ];
}

export function allowedAudienceProblems(audiences: readonly string[]): readonly string[] {
  return [...(audiences.length === 0 ? ['Must name at least one audience.'] : []), ...audienceProblems(audiences)];
}

/** A high-risk audience need not be an allowed one: an operator may list it before allowing it. */
export function audienceProblems(audiences: readonly string[]): readonly string[] {
  return [
    ...(audiences.length > MAX_AUDIENCES ? [`Must name at most ${MAX_AUDIENCES} audiences.`] : []),
    ...itemProblems(audiences, audienceProblem),
    ...duplicateProblems(audiences),
  ];
}

/** `undefined`: the identity provider names the agent by its id, or not at all. */
export function mayActNameProblems(names: readonly MayActName[] | undefined): readonly string[] {
  if (names === undefined) return [];
  return [
    ...(names.length < 1 || names.length > MAX_MAY_ACT_NAMES ? [`Must have 1 to ${MAX_MAY_ACT_NAMES} items.`] : []),
    ...itemProblems(names, mayActNameProblem),
    ...duplicateProblems(names.map(mayActNameText)),
  ];
}

function mayActNameProblem({ sub, clientId }: MayActName): string | undefined {
  if (sub === undefined && clientId === undefined) return 'must have sub, client_id or both';
  if (![sub, clientId].every((text) => text === undefined || isMayActText(text)))
    return `must be 1 to ${MAX_MAY_ACT_LENGTH} characters in each member, none of them a control character`;
  // Every agent has this name already. Another agent's would let this agent use tokens that name the other.
  return sub !== undefined && namesAgent(sub) ? 'must not have a sub that begins with agent:' : undefined;
}

/** `undefined`: no answer of `/oauth2/authorize` goes to this agent. */
export function redirectUriProblems(uris: readonly string[] | undefined): readonly string[] {
  if (uris === undefined) return [];
  return [
    ...(uris.length < 1 || uris.length > MAX_REDIRECT_URIS ? [`Must have 1 to ${MAX_REDIRECT_URIS} items.`] : []),
    ...itemProblems(uris, redirectUriProblem),
    ...duplicateProblems(uris),
  ];
}

/** `undefined`: a program that registers itself under any name may find this agent, if no other fits. */
export function clientNameProblems(names: readonly string[] | undefined): readonly string[] {
  if (names === undefined) return [];
  return [
    ...(names.length < 1 || names.length > MAX_CLIENT_NAMES ? [`Must have 1 to ${MAX_CLIENT_NAMES} items.`] : []),
    ...itemProblems(names, clientNameProblem),
    ...duplicateProblems(names),
  ];
}

function clientNameProblem(name: string): string | undefined {
  // `*` alone would fit every name: that is what an agent without names does.
  const text = name.endsWith('*') ? name.slice(0, -1) : name;
  return displayNameProblems(text).length === 0
    ? undefined
    : `must be 1 to ${MAX_DISPLAY_NAME_LENGTH} characters before a * at its end, not all blank and none a control character`;
}

/** `undefined` or empty: the agent hands work to no agent. Whether each is registered, `unregisteredProblems` says. */
export function delegateProblems(ids: readonly string[] = []): readonly string[] {
  return [
    ...(ids.length > MAX_DELEGATES ? [`Must have at most ${MAX_DELEGATES} items.`] : []),
    ...itemProblems(ids, (id) => (parseAgentId(id) === undefined ? 'must be an agent_id' : undefined)),
    ...duplicateProblems(ids),
  ];
}

/** @param isRegistered whether there is such an agent; of the agent itself it is true */
export function unregisteredProblems(
  delegates: readonly AgentId[],
  isRegistered: (agentId: AgentId) => boolean,
): readonly string[] {
  return itemProblems(delegates, (id) => (isRegistered(id) ? undefined : 'must be the agent_id of a registered agent'));
}

function isMayActText(text: string): boolean {
  return text !== '' && text.length <= MAX_MAY_ACT_LENGTH && text.isWellFormed() && !hasControlOrSeparator(text);
}

function itemProblems<Item>(items: readonly Item[], problem: (item: Item) => string | undefined): readonly string[] {
  return items
    .flatMap((item, index) => {
      const found = problem(item);
      return found === undefined ? [] : [`Item ${index + 1} ${found}.`];
    })
    .slice(0, MAX_NAMED_ITEMS);
}

function duplicateProblems(items: readonly string[]): readonly string[] {
  return new Set(items).size === items.length ? [] : ['Must not name anything twice.'];
}

type KeyFields = Pick<RegistrationDraft, 'jwksUri' | 'jwks' | 'publicClient' | 'clientIdDocument'>;

type KeySourceVerdict =
  | { readonly kind: 'usable'; readonly source: AgentKeySource }
  | { readonly kind: 'refused'; readonly errors: readonly FieldError[] };

const EXACTLY_ONE = 'Exactly one of jwks_uri and jwks must be set.';

/**
 * The keys come from exactly one of `jwks_uri` and `jwks` (specification "Agent registration", rules 1 to 3). A client that
 * PKCE or its document authenticates may have neither. Checks the structure of inline keys: the AgentKeys port tests
 * separately whether each key can be imported.
 */
export function judgeKeySource(
  { jwksUri, jwks, publicClient, clientIdDocument }: KeyFields,
  issuer: string,
): KeySourceVerdict {
  if (jwksUri === undefined && jwks === undefined && (publicClient || clientIdDocument !== undefined)) {
    return { kind: 'usable', source: { kind: 'none' } };
  }
  if ((jwksUri === undefined) === (jwks === undefined)) {
    return refused([...fieldErrors(fieldNames.jwksUri, EXACTLY_ONE), ...fieldErrors(fieldNames.jwks, EXACTLY_ONE)]);
  }
  if (jwksUri !== undefined) {
    const problem = jwksUriProblem(jwksUri, issuer);
    return problem === undefined
      ? { kind: 'usable', source: { kind: 'remote', uri: jwksUri } }
      : refused(fieldErrors(fieldNames.jwksUri, problem));
  }
  const verdict = checkJwkSet(jwks);
  return verdict.kind === 'valid'
    ? { kind: 'usable', source: { kind: 'inline', jwks: verdict.jwks } }
    : refused(fieldErrors(fieldNames.jwks, ...verdict.problems));
}

function refused(errors: readonly FieldError[]): KeySourceVerdict {
  return { kind: 'refused', errors };
}
