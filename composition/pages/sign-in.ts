/** Binds the sign-in at the page `/me` and its sessions to their ports. They exist only with `Service:Me:ClientId`. */

import type { BrowserSessions } from '../../adapters/http/browser/session.ts';
import { meCookies } from '../../adapters/http/me/cookies.ts';
import type { MeSignIn } from '../../adapters/http/me/sign-in-router.ts';
import type { SignIn } from '../../application/ports/identity-provider.ts';
import { beginSession, endSession, type PageSessions } from '../../application/sessions.ts';
import type { Secret } from '../../domain/secret.ts';
import { personOf } from '../../domain/sessions/session.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import type { Parts } from '../parts.ts';
import { meClient } from '../settings/sign-in-clients.ts';
import { browserSessions, pageSessions, sessionDigest } from './page-sessions.ts';
import { signInAtFirstUse } from './provider-sign-in.ts';

/**
 * The client of the page at the identity provider. `undefined` without `Service:Me:ClientId`.
 *
 * @param clientSecret `undefined` for `private_key_jwt`
 */
export function pageSignIn(parts: Parts, clientSecret: Secret | undefined): SignIn | undefined {
  const client = meClient(parts.settings);
  if (client === undefined) return undefined;
  const provider = { metadata: parts.providerMetadata, providerKeys: parts.providerKeys };
  return signInAtFirstUse({ ...client, clientSecret }, provider, parts);
}

export function signInSurface(parts: Parts, provider: SignIn): MeSignIn {
  const { settings, randomness, anonymousDenials: anonymous, log } = parts;
  const sessions = sessionsOf(parts);
  return {
    origin: settings['Service:Issuer'],
    provider,
    randomness,
    log,
    maxAuthAge: settings['Service:Approvals:Enabled'] ? settings['Service:Approvals:MaxAuthAge'] : undefined,
    delegation: settings['Service:Delegation:Enabled'],
    findSession: meSessions(parts, provider).find,
    async open({ person, issuer, ...signIn }, earlier) {
      const secret = await beginSession(sessions, { ...person, issuer, roles: [] }, signIn, earlier);
      return secret === undefined ? { kind: 'refused', reason: 'sign_in_ended' } : { kind: 'opened', secret };
    },
    close: (secret) => endSession(sessions, secret),
    refuse: async (reason, trace) => anonymous.record({ event: 'me.denied', reason }, trace),
  };
}

export function meSessions(parts: Parts, provider: SignIn): BrowserSessions<MePerson> {
  return browserSessions(sessionsOf(parts), meCookies, personOf, provider);
}

function sessionsOf(parts: Parts): PageSessions {
  const { settings } = parts;
  const digest = sessionDigest(settings, [settings['Service:Me:ClientId']]);
  return pageSessions(parts, { kind: 'me', ttl: settings['Service:Me:SessionTtl'], digest });
}
