/**
 * The headers in which other proxies name the signed-in user. A service trusts them from a peer on loopback, as the guard is. So
 * a client could name any user. The guard names the caller in its own headers, and drops these.
 */

import { asVariable } from './header-name.ts';

/** As `asVariable` returns them. A name that ends in a hyphen is the beginning of names. */
const NAMES = [
  // Apache, Authelia, Kubernetes, SiteMinder, Shibboleth, Oracle and IBM access managers, mod_auth_openidc.
  ...[
    'remote-user',
    'remote-name',
    'remote-email',
    'remote-group',
    'remote-groups',
    'remote-ident',
    'redirect-remote-user',
  ],
  ...['x-remote-user', 'x-remote-uid', 'x-remote-name', 'x-remote-email', 'x-remote-group', 'x-remote-groups'],
  ...['x-remote-extra-', 'impersonate-', 'sm-', 'smuser', 'shib-', 'ajp-', 'eppn', 'oam-', 'osso-', 'iv-', 'oidc-'],
  // oauth2-proxy, Vouch, Pomerium, authentik, Gatekeeper, Authentication portals.
  ...[
    'x-forwarded-user',
    'x-forwarded-email',
    'x-forwarded-preferred-username',
    'x-forwarded-groups',
    'x-forwarded-roles',
  ],
  ...['x-forwarded-access-token', 'x-auth-request-', 'gap-auth', 'x-vouch-', 'x-pomerium-', 'x-authentik-'],
  ...[
    'x-authelia-',
    'x-auth-user',
    'x-auth-userid',
    'x-auth-username',
    'x-auth-name',
    'x-auth-email',
    'x-auth-subject',
  ],
  ...['x-auth-group', 'x-auth-groups', 'x-auth-role', 'x-auth-roles', 'x-authenticated-', 'x-authentication-'],
  ...[
    'x-token-user-',
    'x-token-subject',
    'x-proxy-user',
    'x-proxy-remote-user',
    'proxy-user',
    'proxy-remote-user',
    'auth-user',
  ],
  // Grafana, Gitea and others name what they read.
  ...[
    'x-webauth-',
    'webauth-',
    'x-user',
    'x-username',
    'x-userid',
    'x-userinfo',
    'x-user-id',
    'x-user-name',
    'x-user-email',
  ],
  ...[
    'x-user-group',
    'x-user-groups',
    'x-user-role',
    'x-user-roles',
    'x-id-token',
    'http-user',
    'x-http-user',
    'x-sandstorm-',
  ],
  // Clouds, gateways and networks: AWS, Google, Azure, Cloudflare, Tailscale, Teleport, Kong, WSO2, Replit.
  ...['x-amzn-oidc-', 'x-amzn-mtls-', 'x-goog-authenticated-user-', 'x-goog-iap-', 'x-endpoint-api-userinfo'],
  ...['x-apigateway-api-userinfo', 'x-ms-client-principal', 'x-ms-client-principal-', 'x-ms-token-', 'cf-access-'],
  ...['tailscale-', 'teleport-', 'x-consumer-', 'x-credential-', 'x-anonymous-consumer', 'x-jwt-', 'x-replit-user-'],
  // The certificate of a client, which a proxy has verified (RFC 9440 and before).
  ...[
    'client-cert',
    'client-cert-chain',
    'x-client-cert',
    'x-client-cert-',
    'x-client-dn',
    'x-client-verify',
    'ssl-client-',
  ],
  ...[
    'x-ssl-client-',
    'x-ssl-cert',
    'x-forwarded-client-cert',
    'x-forwarded-tls-client-cert',
    'x-forwarded-tls-client-cert-',
  ],
  ...['x-arr-clientcert'],
];

const WHOLE: ReadonlySet<string> = new Set(NAMES.filter((name) => !name.endsWith('-')));
const BEGINNINGS = NAMES.filter((name) => name.endsWith('-'));

/** Whether a service could take the header for one in which a proxy tells who has signed in. @param name in lower case */
export function tellsWhoSignedIn(name: string): boolean {
  const read = asVariable(name);
  return WHOLE.has(read) || BEGINNINGS.some((beginning) => read.startsWith(beginning));
}
