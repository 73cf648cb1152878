/**
 * The catalogue of refusals: every denial reason, its OAuth error and its one public sentence. Code that uses any
 * other reason does not compile.
 *
 * Sources: specification "Errors" (OAuth error bodies, denial reasons); supplement "Reasons".
 *
 * The reason goes to the ledger and the log, the sentence to the caller. They differ on purpose:
 * `actor_unknown_agent` and `actor_invalid_signature` share a sentence, so that ids can't be enumerated.
 */

/**
 * Codes of RFC 6749 §4.1.2.1 and §5.2, RFC 8693 §2.2.2, RFC 8707 §2, RFC 7009 §2.2.1 and OpenID Connect Core §3.1.2.6, and two
 * that the specification adds.
 */
export type OAuthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'unsupported_token_type'
  | 'temporarily_unavailable'
  | 'slow_down'
  // In the browser only.
  | 'unauthorized_client'
  | 'unsupported_response_type'
  | 'server_error'
  | 'interaction_required'
  | 'request_not_supported'
  | 'request_uri_not_supported';

interface Entry {
  readonly error: OAuthError;
  readonly sentence: string;
}

const entry = <E extends OAuthError>(error: E, sentence: string) => ({ error, sentence }) as const;

const CLIENT = 'Client authentication failed.';
const SUBJECT = 'The subject token is not acceptable.';
const APPROVAL_REQUEST = 'The approval request is not acceptable.';
const OFFER = 'The delegation offer is unknown, has expired, was used before, or is for another agent.';
const CODE = 'The authorization code is unknown, has expired, was used before, or belongs to another client.';
const GRANT = 'The task grant is unknown, was revoked, or belongs to another agent.';

const catalogue = {
  // The request itself.
  invalid_request: entry('invalid_request', 'The request is missing a parameter, repeats one, or is malformed.'),
  unsupported_grant_type: entry('unsupported_grant_type', 'The grant type must be token exchange or refresh_token.'),
  unsupported_token_type: entry(
    'unsupported_token_type',
    'The token_type_hint must be access_token or refresh_token when it is sent.',
  ),

  // Rate limit and overload: refused before the request is read. Each surface answers in its own error shape.
  rate_limited: entry('slow_down', 'Too many requests come from this address. Retry the request later.'),
  overloaded: entry('temporarily_unavailable', 'The service is at capacity. Retry the request.'),

  // The client assertion (RFC 7523 §3). Until its signature has verified, the agent-related refusals share a sentence.
  actor_malformed: entry('invalid_client', 'Client authentication failed: no well-formed client assertion was sent.'),
  actor_unsupported_algorithm: entry(
    'invalid_client',
    'The client assertion must be signed with ES256, RS256 or PS256.',
  ),
  actor_issuer_subject_mismatch: entry(
    'invalid_client',
    "The client assertion's iss and sub must both be the agent_id.",
  ),
  actor_client_id_mismatch: entry('invalid_client', "The client_id parameter must be the client assertion's agent."),
  actor_unknown_agent: entry('invalid_client', CLIENT),
  actor_no_registered_keys: entry('invalid_client', CLIENT),
  actor_keys_unavailable: entry('temporarily_unavailable', "The agent's keys could not be fetched. Retry the request."),
  actor_unknown_key: entry('invalid_client', CLIENT),
  actor_key_mismatch: entry('invalid_client', CLIENT),
  actor_invalid_signature: entry('invalid_client', CLIENT),
  agent_disabled: entry('access_denied', 'This agent has been disabled.'),
  actor_wrong_audience: entry(
    'invalid_client',
    "The client assertion's aud must be this issuer or its token endpoint, alone.",
  ),
  actor_missing_expiry: entry('invalid_client', 'The client assertion has no exp.'),
  actor_expired: entry('invalid_client', 'The client assertion has expired.'),
  actor_expiry_in_doubt: entry(
    'temporarily_unavailable',
    "The service's clocks disagree whether the client assertion has expired. Retry with a new assertion.",
  ),
  actor_lifetime_too_long: entry('invalid_client', 'The client assertion may live for at most five minutes.'),
  actor_not_yet_valid: entry('invalid_client', 'The client assertion is not valid yet.'),
  actor_missing_jti: entry('invalid_client', 'The client assertion needs a jti of 1 to 256 characters.'),
  actor_instance_too_long: entry('invalid_client', "The client assertion's instance is over 128 characters."),
  actor_replayed: entry('invalid_client', 'The client assertion was used before.'),

  // The subject token (RFC 8693 §2.1).
  subject_malformed: entry('invalid_grant', SUBJECT),
  subject_unsupported_algorithm: entry(
    'invalid_grant',
    'The subject token is signed with an algorithm that is not accepted.',
  ),
  subject_keys_unavailable: entry(
    'temporarily_unavailable',
    "The identity provider's keys could not be fetched. Retry the request.",
  ),
  subject_unknown_key: entry('invalid_grant', SUBJECT),
  subject_key_mismatch: entry('invalid_grant', SUBJECT),
  subject_invalid_signature: entry('invalid_grant', SUBJECT),
  subject_untrusted_issuer: entry(
    'invalid_grant',
    'The subject token was not issued by the trusted identity provider.',
  ),
  subject_missing_expiry: entry('invalid_grant', 'The subject token has no exp.'),
  subject_expired: entry('invalid_grant', 'The subject token has expired.'),
  subject_not_yet_valid: entry('invalid_grant', 'The subject token is not valid yet.'),
  subject_audience_mismatch: entry('invalid_grant', 'The subject token was issued for another audience.'),
  subject_missing_subject: entry('invalid_grant', 'The subject token has no sub.'),
  subject_sub_malformed: entry(
    'invalid_grant',
    "The subject token's sub must be 1 to 256 characters, none of them a control character.",
  ),
  subject_is_agent: entry('invalid_grant', 'The subject token names an agent, not a human.'),
  subject_not_a_person: entry('invalid_grant', 'The subject token was issued to a client, not to a person.'),
  subject_already_delegated: entry(
    'invalid_grant',
    'The subject token is itself delegated; a human must present their own.',
  ),
  subject_bound_to_key: entry(
    'invalid_grant',
    'The subject token is bound to a key, which a task token is not; present one without cnf.',
  ),
  sponsor_key_missing: entry(
    'invalid_grant',
    'The subject token has no usable value in the claim that names the person.',
  ),
  subject_logged_out: entry('invalid_grant', 'The session or the person of the subject token has logged out.'),

  // The person.
  sponsor_disabled: entry('access_denied', 'This person may not be acted for.'),
  sponsor_not_found: entry('access_denied', 'This person may not be acted for.'),
  actor_not_named: entry('access_denied', 'The subject token does not name this agent in may_act.'),
  sponsor_status_unavailable: entry(
    'temporarily_unavailable',
    'The identity provider did not confirm this person. Retry the request.',
  ),

  // Policy.
  scope_intersection_empty: entry(
    'invalid_scope',
    'None of the requested scopes is held by both the person and the agent.',
  ),
  audience_not_allowed: entry('invalid_target', 'The agent may not act at this resource.'),
  delegation_depth_exceeded: entry(
    'access_denied',
    'The chain of agents would be longer than a registration or the service allows.',
  ),

  // The task grant, in the order of the refresh endpoint's checks.
  grant_not_found: entry('invalid_grant', GRANT),
  grant_revoked: entry('invalid_grant', GRANT),
  task_revoked: entry('access_denied', 'The task was revoked.'),
  task_expired: entry('access_denied', 'The task has expired.'),
  task_ending: entry('access_denied', 'The task ends in less than five seconds: stop, and do not retry.'),
  audience_mismatch: entry('invalid_target', "The resource is not the task's."),
  scope_widened: entry('invalid_scope', 'A refresh may not ask for a scope that the task does not hold.'),

  // Delegation to another agent. What is wrong with an offer has one sentence: its reader learns nothing about other agents.
  delegation_offer_unknown: entry('invalid_grant', OFFER),
  delegation_offer_expired: entry('invalid_grant', OFFER),
  delegation_offer_spent: entry('invalid_grant', OFFER),
  delegation_not_for_agent: entry('invalid_grant', OFFER),
  delegation_not_allowed: entry('access_denied', 'An agent of the chain may not delegate to the next one.'),
  delegation_refused_by_person: entry('access_denied', 'The person does not let this agent delegate.'),
  too_many_children: entry(
    'access_denied',
    'Too many tasks are delegated from this one. Retry when one of them has ended.',
  ),
  parent_ended: entry('access_denied', 'The task that would delegate has ended.'),
  ancestor_disabled: entry('access_denied', 'An agent that delegated this task may not act.'),

  // Revocation. The response is that of a success (RFC 7009 §2.2), so this sentence is never sent.
  revocation_not_owner: entry('invalid_grant', 'The token was not issued to this agent.'),

  // The request for an approval. They share a sentence: the holder of a task token learns nothing about tool servers.
  approval_request_malformed: entry('invalid_request', APPROVAL_REQUEST),
  approval_issuer_unknown: entry('invalid_request', APPROVAL_REQUEST),
  approval_keys_unavailable: entry(
    'temporarily_unavailable',
    "The tool server's keys could not be fetched. Retry the request.",
  ),
  approval_signature_invalid: entry('invalid_request', APPROVAL_REQUEST),
  approval_request_expired: entry('invalid_request', APPROVAL_REQUEST),
  approval_not_for_task: entry('invalid_request', APPROVAL_REQUEST),
  approval_replayed: entry('invalid_request', APPROVAL_REQUEST),
  approval_altered: entry(
    'temporarily_unavailable',
    'The approval cannot be answered: its stored row differs from its records.',
  ),
  too_many_pending: entry('slow_down', 'Too many approvals wait for this person. Retry the request later.'),
  too_many_questions: entry('slow_down', 'The agent has asked this person too often. Retry the request later.'),

  // The request at /oauth2/authorize, which a person answers, and its code (RFC 6749 §4.1).
  client_unknown: entry('invalid_request', 'No agent is registered under this client_id.'),
  redirect_uri_not_registered: entry('invalid_grant', 'The redirect_uri is not registered for this client.'),
  client_not_public: entry(
    'invalid_client',
    'This client must authenticate with a key: a client_id alone is not accepted.',
  ),
  unsupported_response_type: entry('unsupported_response_type', 'The response_type must be code.'),
  request_not_supported: entry('request_not_supported', 'The parameter request is not supported.'),
  request_uri_not_supported: entry('request_uri_not_supported', 'The parameter request_uri is not supported.'),
  interaction_required: entry('interaction_required', 'The person must answer at a page, so prompt cannot be none.'),
  code_challenge_missing: entry('invalid_request', 'A code_challenge with the method S256 is required.'),
  sign_in_other_person: entry('access_denied', 'The sign-in and the access token name two people.'),
  consent_refused: entry('access_denied', 'The person refused.'),
  request_expired: entry('access_denied', 'The request has expired. Start again.'),
  code_unknown: entry('invalid_grant', CODE),
  code_expired: entry('invalid_grant', CODE),
  code_replayed: entry('invalid_grant', CODE),
  code_verifier_mismatch: entry('invalid_grant', 'The code_verifier does not fit the code_challenge of the request.'),
  authorization_altered: entry(
    'temporarily_unavailable',
    'The code cannot be redeemed: the stored answer of the person differs from its record.',
  ),
  grant_superseded: entry('invalid_grant', GRANT),
} as const satisfies Record<string, Entry>;

/** A machine-readable reason: a fixed snake_case word that never contains request data. */
export type DenialReason = keyof typeof catalogue;

/** A refusal that a decision records, and that has no OAuth error. */
export type ConflictReason =
  | 'agent_already_exists'
  | 'agent_has_tasks'
  | 'agent_named_by_others'
  | 'may_act_name_taken'
  | 'client_id_document_taken'
  | 'sponsor_block_not_owned'
  | 'sign_in_too_old'
  | 'pause_not_liftable'
  | 'approver_not_fresh'
  | 'approval_refused'
  | 'operator_is_sponsor'
  | 'operator_role_missing';

/** A sign-in for which the provider demands a proof of a key (DPoP). No metadata of a provider has that demand. */
export type SignInDemand = 'sign_in_dpop_demanded';

/** The OAuth error and the public sentence of a reason. */
export function describeDenial(reason: DenialReason): Entry {
  return catalogue[reason];
}

/** Every reason, in the order of the supplement; for documents and tests. */
export const denialReasons = Object.keys(catalogue) as readonly DenialReason[];

/**
 * Whether the refusal is temporary. Nothing was decided: the client may send the same request again, and its assertion
 * is not used up.
 */
export function isTemporary(reason: DenialReason): boolean {
  return catalogue[reason].error === 'temporarily_unavailable';
}
