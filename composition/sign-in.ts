/** Binds the sign-in at the page `/me` and its sessions to their ports. They exist only with `Service:Me:ClientId`. */

import { meCookies } from '../adapters/http/me/cookies.ts';
import type { MeSessions } from '../adapters/http/me/identify.ts';
import type { MeSignIn } from '../adapters/http/me/sign-in-router.ts';
import { formTokenOf } from '../adapters/http/pages/cookies.ts';
import type { Traceable } from '../adapters/http/traceable.ts';
import { sealing } from '../adapters/platform/system-crypto.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import { closeMySession, keptIdToken, openMySession, useMySession } from '../application/me/sessions.ts';
import type { SignIn } from '../application/ports/identity-provider.ts';
import type { Secret } from '../domain/secret.ts';
import { LONGEST_SIGN_IN_SECONDS } from '../domain/sessions/sign-in-age.ts';
import type { MeNeeds } from './parts.ts';
import { signInAtFirstUse } from './provider-sign-in.ts';
import { sessionDigest } from './session-digest.ts';
import { traceable } from './traces.ts';

type SessionParts = Pick<MeNeeds, 'settings' | 'clockWatch' | 'randomness'>;

/**
 * The client of the page at the identity provider. `undefined` without `Service:Me:ClientId`.
 *
 * @param clientSecret `undefined` for `private_key_jwt`
 */
export function pageSignIn(parts: MeNeeds, clientSecret: Secret | undefined): SignIn | undefined {
  const { settings } = parts;
  const clientId = settings['Service:Me:ClientId'];
  if (clientId === undefined) return undefined;
  const issuer = settings['Service:Issuer'];
  const client = {
    ...{ clientId, clientSecret, redirectUri: `${issuer}/me/callback`, signedOutUri: `${issuer}/me/signed-out` },
    assertionAudience: settings['Service:UpstreamIdp:ClientAssertionAudience'],
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    longestSignIn: LONGEST_SIGN_IN_SECONDS,
  };
  return signInAtFirstUse(client, { ...parts, metadata: parts.providerMetadata });
}

export function signInSurface(parts: MeNeeds, provider: SignIn): Traceable<MeSignIn> {
  const { settings, randomness, anonymousDenials: anonymous, log } = parts;
  return traceable(parts, (storage) => {
    const service = sessionService(parts, storage);
    const sessions = meSessions(parts, storage, provider);
    return {
      ...{ origin: settings['Service:Issuer'], provider, randomness, log },
      findSession: (cookies, trace) => sessions.find(cookies, trace),
      async open(signedIn, earlier) {
        const secret = await openMySession(service, signedIn, earlier);
        return secret === undefined ? { kind: 'refused', reason: 'sign_in_ended' } : { kind: 'opened', secret };
      },
      close: (secret) => closeMySession(service, secret),
      refuse: async (reason, trace) => anonymous.record({ event: 'me.denied', reason }, trace),
    };
  });
}

export function meSessions(parts: SessionParts, storage: Storage, provider: SignIn): MeSessions {
  const service = sessionService(parts, storage);
  return {
    async find(cookies) {
      const secret = meCookies.sessionSecret(cookies);
      const session = secret === undefined ? undefined : await useMySession(service, secret);
      if (secret === undefined || session === undefined) return undefined;
      const { subject, sponsorKey, sessionId, authenticatedAt } = session;
      const person = { subject, sponsorKey, sessionId, authenticatedAt, by: 'session' } as const;
      const idToken = keptIdToken(sealing, secret, session);
      return { person, formToken: formTokenOf(secret), idToken, signsOutEverywhere: await provider.offersSignOut() };
    },
  };
}

function sessionService({ settings, clockWatch: sharedTime, randomness }: SessionParts, storage: Storage) {
  const ttl = settings['Service:Me:SessionTtl'];
  const digest = sessionDigest(settings, [settings['Service:Me:ClientId']]);
  return { decisions: storage, sessions: storage.sessions, digest, sealing, sharedTime, randomness, ttl };
}
