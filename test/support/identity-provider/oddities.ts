/**
 * How real identity providers differ from `oidc-provider`. Each is a switch of the misbehaving gateway, and any
 * combination can be on.
 */

import type { JsonWebKey } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Handler } from '../loopback.ts';
import type { SigningKey } from '../signing-key.ts';

type Members = Readonly<Record<string, unknown>>;

/** A place where the provider answers. */
export type Endpoint = 'metadata' | 'keys' | 'authorization' | 'token' | 'sign_out' | 'users';

export interface Oddities {
  /** Each key has a twin of the same `kid` before it, for encryption. */
  readonly kidTwice?: boolean;
  /** Neither keys nor tokens have a `kid`, and twenty other keys come first. */
  readonly manyKeysWithoutKid?: boolean;
  /** All keys have one `kid`, and so have those of the next rotation. */
  readonly sameKid?: boolean;
  /** Members of the keys without a value are null. */
  readonly nullMembers?: boolean;
  /** Tokens are signed with a key whose `alg` is `Ed25519` (RFC 9864). */
  readonly ed25519?: boolean;

  /** A request without a User-Agent gets 403. */
  readonly demandsUserAgent?: boolean;
  /** Each connection answers one request, and breaks at the next. */
  readonly connectionsBreak?: boolean;
  /** The `Content-Encoding` of JSON answers, which are not encoded. */
  readonly contentEncoding?: string;
  /** JSON answers have the status 203. */
  readonly status203?: boolean;

  /** The `scope` claim of access tokens. */
  readonly scopeClaim?: 'list' | 'absent';
  /** Access tokens have no `sid`. Logout tokens name the person and the session. */
  readonly noSession?: boolean;
  /** The `auth_time` of ID tokens. */
  readonly authTime?: 0 | 'absent' | 'text' | 'future';

  /** These claims of access tokens are replaced, or removed by `undefined`. */
  readonly accessClaims?: Members;
  /** Access tokens are no JWT. */
  readonly opaqueAccessTokens?: boolean;

  /** ID tokens are longer by this many characters, in a claim. */
  readonly idTokenPadding?: number;

  /** The `iss` of access tokens, which the metadata names in `access_token_issuer` (AD FS). */
  readonly accessTokenIssuer?: string;
  /** These members of the metadata are replaced, or removed by `undefined`. */
  readonly metadata?: Members;

  /** `expires_in` is text. */
  readonly expiresInText?: boolean;
  /** A client-credentials request without `scope` is refused. */
  readonly demandsScope?: boolean;
  /** Only `client_secret_basic` is offered, and its parts are not percent-decoded. */
  readonly basicAsSent?: boolean;
  /** The code of a token request is looked at before its client. */
  readonly codeFirst?: boolean;
  /** A refused client gets an empty 403, and an unknown code 403 with `invalid_code`. */
  readonly ownErrors?: boolean;
  /** The token endpoint refuses Mandate's clients: by `invalid_client`, or by this status and an empty body. */
  readonly refusesMandate?: 'invalid_client' | 401 | 403;

  /** Its page after a sign-out is blank. By default it asks for a confirmation. */
  readonly blankSignOut?: boolean;

  /** Other answers than the provider's own. */
  readonly answers?: Readonly<Partial<Record<Endpoint, Handler>>>;
}

/** Keys that the provider itself does not have. */
export interface OddKeys {
  readonly ed25519: SigningKey;
  /** Keys that sign nothing. */
  readonly idle: readonly JsonWebKey[];
}

const SAME_KID = 'the-key';

export function oddKeys(keys: readonly Members[], odd: Oddities, { ed25519, idle }: OddKeys): readonly Members[] {
  const named = [...(odd.ed25519 ? [ed25519.publicJwk as Members] : []), ...keys]
    .map((key) => (odd.sameKid ? { ...key, kid: SAME_KID } : key))
    .map((key) => (odd.nullMembers ? { x5t: null, x5c: null, key_ops: null, ...key } : key))
    .flatMap((key) => (odd.kidTwice ? [twinOf(key), key] : [key]));
  return odd.manyKeysWithoutKid ? [...idle, ...named].map(({ kid: _, ...key }) => key) : named;
}

function twinOf(key: Members): Members {
  return { ...key, use: 'enc', alg: key.kty === 'RSA' ? 'RSA-OAEP' : 'ECDH-ES' };
}

/** The same token with these oddities. @param signingKey the provider's own */
export function oddToken(
  token: string,
  kind: 'access_token' | 'id_token',
  odd: Oddities,
  { signingKey, ed25519 }: { readonly signingKey: SigningKey; readonly ed25519: SigningKey },
): string {
  if (odd.opaqueAccessTokens && kind === 'access_token') return 'an-opaque-access-token';
  const key = odd.ed25519 ? ed25519 : signingKey;
  const { alg: _, kid: __, ...header } = decodeProtectedHeader(token);
  const kid = odd.sameKid ? SAME_KID : key.kid;
  const claims = decodeJwt(token);
  return key.sign(
    { alg: key.alg, ...(odd.manyKeysWithoutKid ? {} : { kid }), ...header },
    kind === 'access_token' ? oddAccessClaims(claims, odd) : oddIdClaims(claims, odd),
  );
}

function oddAccessClaims({ scope, sid, ...claims }: Members, odd: Oddities): Members {
  const list = typeof scope === 'string' ? scope.split(' ') : scope;
  return {
    ...claims,
    ...(odd.scopeClaim === 'absent' ? {} : { scope: odd.scopeClaim === 'list' ? list : scope }),
    ...(odd.noSession ? {} : { sid }),
    ...(odd.accessTokenIssuer === undefined ? {} : { iss: odd.accessTokenIssuer }),
    ...odd.accessClaims,
  };
}

function oddIdClaims(claims: Members, odd: Oddities): Members {
  const groups = odd.idTokenPadding === undefined ? {} : { groups: 'x'.repeat((odd.idTokenPadding * 3) / 4) };
  return { ...claims, ...groups, ...oddAuthTime(claims, odd) };
}

function oddAuthTime({ auth_time: usual }: Members, { authTime }: Oddities): Members {
  switch (authTime) {
    case 0:
      return { auth_time: 0 };
    case 'absent':
      return { auth_time: undefined };
    case 'text':
      return { auth_time: new Date().toISOString() };
    case 'future':
      return { auth_time: Math.floor(Date.now() / 1000) + 24 * 60 * 60 };
    default:
      return { auth_time: usual };
  }
}

export function oddMetadata(document: Members, odd: Oddities): Members {
  const algorithms = document.id_token_signing_alg_values_supported;
  return {
    ...document,
    ...(odd.ed25519 && Array.isArray(algorithms)
      ? { id_token_signing_alg_values_supported: [...algorithms, 'Ed25519'] }
      : {}),
    ...(odd.basicAsSent ? { token_endpoint_auth_methods_supported: ['client_secret_basic'] } : {}),
    ...(odd.accessTokenIssuer === undefined ? {} : { access_token_issuer: odd.accessTokenIssuer }),
    ...odd.metadata,
  };
}
