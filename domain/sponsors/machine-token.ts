/**
 * Whether a provider's token was issued to a machine: a client got it for itself, so no person is behind it (supplement
 * "Subject tokens"). A token that names a client beside a person stays a person's.
 */

import { type JsonObject, member, textMember } from '../tokens/strict-json.ts';

/** The claim that identifies a machine. Fixed words, for sentences about a token whose claims are not shown. */
export type MachineMark = 'sub_is_client' | 'gty' | 'idtyp' | 'sub_is_oid' | 'service_account';

/** RFC 9068 §2.2, OpenID Connect Core 1.0 §2, and Okta's name for the client. */
const CLIENT_CLAIMS = ['client_id', 'azp', 'cid'];
/** Auth0 adds it to the id of the client, so that the `sub` of a machine is never that of a person. */
const AUTH0_SUFFIX = '@clients';
/** Auth0 writes the first. The second is the name in RFC 6749 §4.4. */
const MACHINE_GRANTS: readonly unknown[] = ['client-credentials', 'client_credentials'];
/** How the client authenticated, in tokens of Entra ID of version 2 and 1. Other providers with an `oid` send neither. */
const ENTRA_CLIENT_CLAIMS = ['azpacr', 'appidacr'];
const KEYCLOAK_PREFIX = 'service-account-';

/**
 * The first mark in the claims; `undefined` if they have no mark. Texts are compared exactly: a `sub` that differs from the
 * client's id in letter case is another one (RFC 7519 §4.1.2). A claim of another type than the provider's says nothing.
 */
export function machineMark(claims: JsonObject): MachineMark | undefined {
  const sub = textMember(claims, 'sub');
  const isSub = (client: string | undefined) =>
    client !== undefined && (sub === client || sub === client + AUTH0_SUFFIX);
  if (CLIENT_CLAIMS.some((name) => isSub(textMember(claims, name)))) return 'sub_is_client';
  const grants = member(claims, 'gty');
  if ((Array.isArray(grants) ? grants : [grants]).some((grant) => MACHINE_GRANTS.includes(grant))) return 'gty';
  if (textMember(claims, 'idtyp') === 'app') return 'idtyp';
  if (isOfEntraApplication(claims, sub)) return 'sub_is_oid';
  const name = textMember(claims, 'preferred_username');
  // Keycloak writes names of users in lower case, ids of clients as they are.
  const client = textMember(claims, 'azp')?.toLowerCase();
  if (client !== undefined && name === KEYCLOAK_PREFIX + client) return 'service_account';
  const isNamed = textMember(claims, 'client_id') !== undefined || textMember(claims, 'clientId') !== undefined;
  return isNamed && name?.startsWith(KEYCLOAK_PREFIX) ? 'service_account' : undefined;
}

/**
 * Entra ID gives a person another `sub` for each application, and the scopes of the consent in `scp`. An application that
 * acts for itself has its object id as `sub`, and no `scp`.
 */
function isOfEntraApplication(claims: JsonObject, sub: string | undefined): boolean {
  return (
    ENTRA_CLIENT_CLAIMS.some((name) => textMember(claims, name) !== undefined) &&
    sub !== undefined &&
    sub === textMember(claims, 'oid') &&
    member(claims, 'scp') === undefined
  );
}
