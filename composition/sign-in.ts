/** Binds the sign-in at the page `/me` and its sessions to their ports. They exist only with `Service:Me:ClientId`. */

import { sessionSecret } from '../adapters/http/me/cookies.ts';
import type { MeSessions } from '../adapters/http/me/identify.ts';
import type { SignInSurface } from '../adapters/http/me/sign-in-router.ts';
import { formTokenOf } from '../adapters/http/pages/cookies.ts';
import type { Traceable } from '../adapters/http/traceable.ts';
import { serviceAssertion } from '../adapters/identity-provider/service-token.ts';
import { sha256 } from '../adapters/platform/system-crypto.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import { closeMySession, openMySession, useMySession } from '../application/me/sessions.ts';
import type { SignIn } from '../application/ports/identity-provider.ts';
import type { Secret } from '../domain/secret.ts';
import type { MeNeeds } from './parts.ts';
import { traceable } from './traces.ts';

type SessionParts = Pick<MeNeeds, 'settings' | 'clock' | 'randomness'>;

/** @param clientSecret `undefined` for `private_key_jwt` */
export function signInSurface(parts: MeNeeds, clientSecret: Secret | undefined): Traceable<SignInSurface> | undefined {
  const { settings, clock, randomness, anonymousDenials: anonymous, signingKeys, network, log } = parts;
  const clientId = settings['Service:Me:ClientId'];
  if (clientId === undefined) return undefined;
  const issuer = settings['Service:Issuer'];
  const client = {
    ...{ clientId, clientSecret, redirectUri: `${issuer}/me/callback` },
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
  };
  const provider = loadedAtFirstUse(async () => {
    const { signIn } = await import('../adapters/identity-provider/sign-in.ts');
    return signIn(client, {
      ...{ metadata: parts.providerMetadata, providerKeys: parts.providerKeys, network, clock, log },
      assertion: serviceAssertion(signingKeys, clock, randomness),
    });
  });
  return traceable(parts, (storage) => {
    const service = sessionService(parts, storage);
    return {
      ...{ issuer, provider, randomness, log, sessions: meSessions(parts, storage) },
      open: (signedIn, earlier) => openMySession(service, signedIn, earlier),
      close: (secret) => closeMySession(service, secret),
      refuse: async (reason, trace) => anonymous.record({ event: 'me.denied', reason }, trace),
    };
  });
}

/** Loading the library for sign-ins would lengthen the start of the service. */
function loadedAtFirstUse(load: () => Promise<SignIn>): SignIn {
  let loading: Promise<SignIn> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    begin: async (...given) => (await loaded()).begin(...given),
    finish: async (...given) => (await loaded()).finish(...given),
    signOutAddress: async (...given) => (await loaded()).signOutAddress(...given),
  };
}

export function meSessions(parts: SessionParts, storage: Storage): MeSessions {
  const service = sessionService(parts, storage);
  return {
    async find(cookies) {
      const secret = sessionSecret(cookies);
      const session = secret === undefined ? undefined : await useMySession(service, secret);
      if (secret === undefined || session === undefined) return undefined;
      const { subject, sponsorKey, sessionId, authenticatedAt } = session;
      const person = { subject, sponsorKey, sessionId, authenticatedAt, by: 'session' } as const;
      return { person, formToken: formTokenOf(secret) };
    },
  };
}

function sessionService({ settings, clock, randomness }: SessionParts, storage: Storage) {
  const ttl = settings['Service:Me:SessionTtl'];
  return { decisions: storage, sessions: storage.sessions, digest: sha256, clock, randomness, ttl };
}
