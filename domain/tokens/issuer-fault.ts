/** Whether a token can have the issuer that a metadata document names. */

/**
 * - `template`: it has a placeholder, as for several tenants. Each token has the issuer of one tenant.
 * - `no_uri`: it has a character that no URI has.
 */
type IssuerFault = 'template' | 'no_uri';

/** Why no token can have it as its `iss`; `undefined` if one can. */
export function issuerFault(issuer: string): IssuerFault | undefined {
  if (/[{}]|%7[bd]/i.test(issuer)) return 'template';
  // RFC 7519 §2: an `iss` with a colon is a URI; one without, such as `accounts.google.com`, may be any text.
  return issuer.includes(':') && !URI.test(issuer) ? 'no_uri' : undefined;
}

/** The characters of RFC 3986 §2. */
const URI = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
