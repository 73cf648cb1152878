/** Why a sign-in at the identity provider failed. */

/** Why a sign-in failed: a fixed word for the log. The pages have a sentence for each (docs/people.md lists both). */
export const signInDenials = [
  /** The provider, its metadata or its keys did not answer, or the provider says that it has no time. */
  'provider_unavailable',
  /** The token endpoint answered something that is no answer to the request. */
  'provider_unreadable',
  /** The provider refuses this service: its client, or what it asked for. */
  'client_refused',
  /** The provider demands a proof of a key (DPoP, RFC 9449), which this service does not send. */
  'sign_in_dpop_demanded',
  /** The person, or the provider for them, did not agree. */
  'sign_in_cancelled',
  /** The provider would have had to ask the person, and did not. */
  'login_required',
  /** The answer is to another sign-in than the newest one of this browser. */
  'sign_in_superseded',
  /** The provider does not know the code: it was used before, or is too old. */
  'sign_in_code_refused',
  /** The return address lacks a parameter, repeats one, or comes from another provider. */
  'sign_in_answer_refused',
  /** The ID token is refused. */
  'id_token_refused',
  /** The ID token is the provider's, but its person may not sign in here. */
  'account_refused',
  /** The ID token does not say when the person proved who they are. */
  'sign_in_undated',
  /** The person proved who they are too long ago. */
  'sign_in_too_old',
] as const;
export type SignInDenial = (typeof signInDenials)[number];
