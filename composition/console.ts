/** Binds the console's use cases to their ports. It exists only with `Service:Console:Port`. */

import type { HttpApp } from '../adapters/http/app.ts';
import { consoleApp } from '../adapters/http/console/console-app.ts';
import type { ConsoleSurface } from '../adapters/http/console/console-router.ts';
import { consoleCookies } from '../adapters/http/console/cookies.ts';
import { MOST_COUNTED, type OverviewSurface } from '../adapters/http/console/overview-surface.ts';
import type { ConsoleSessions } from '../adapters/http/console/session.ts';
import { formTokenOf } from '../adapters/http/pages/cookies.ts';
import type { SignInSurface } from '../adapters/http/pages/sign-in-router.ts';
import type { Traceable } from '../adapters/http/traceable.ts';
import { sealing } from '../adapters/platform/system-crypto.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import {
  closeOperatorsSession,
  type OperatorClaims,
  openOperatorsSession,
  operatorOf,
  peekOperatorsSession,
  useOperatorsSession,
} from '../application/admin/operator-sessions.ts';
import { sharedExamination } from '../application/doctor/shared-examination.ts';
import { keptIdToken } from '../application/me/sessions.ts';
import type { SignIn } from '../application/ports/identity-provider.ts';
import type { Digest } from '../application/ports/runtime.ts';
import type { Secret } from '../domain/secret.ts';
import type { Trace } from '../domain/trace-context.ts';
import { consoleViews } from './console-views.ts';
import { settingsInUse } from './doctor/settings.ts';
import type { ConsoleNeeds } from './parts.ts';
import { signInAtFirstUse } from './provider-sign-in.ts';
import { sessionDigest } from './session-digest.ts';
import { consoleChoice, operatorsChoice, sinkChoice, statusListReach } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';
import { traceable } from './traces.ts';

/** @param clientSecret `undefined` for `private_key_jwt` */
export function openConsole(parts: ConsoleNeeds, clientSecret: Secret | undefined): HttpApp {
  const { settings, surfaces } = parts;
  const chosen = consoleChoice(settings);
  if (chosen === undefined) throw new Error('the console is opened without its settings');
  const provider = consoleSignIn(parts, { ...chosen, clientSecret });
  return consoleApp({
    ...surfaces,
    screens: screens(parts, chosen.origin, provider),
    signIn: signInSurface(parts, chosen.origin, provider),
  });
}

function screens(parts: ConsoleNeeds, origin: string, provider: SignIn): ConsoleSurface {
  const { settings, storage, storageWithin, surfaces, anonymousDenials: anonymous, clock, log } = parts;
  const { admin, audit } = surfaces;
  const { operators } = admin;
  if (operators === undefined) throw new Error('the console is opened without operators');
  const sessionsOf = (trace: Trace | undefined) =>
    sessions(parts, (trace && storageWithin?.(trace)) ?? storage, provider);
  return {
    ...{ origin, admin, audit, clock, log, overview: overview(parts), views: consoleViews(parts) },
    sessions: {
      find: (cookies, trace) => sessionsOf(trace).find(cookies, trace),
      peek: (cookies, trace) => sessionsOf(trace).peek(cookies, trace),
    },
    examine: sharedExamination(async () => {
      // Loaded by the first operator who asks.
      const { examineEverything } = await import('./doctor/examine-everything.ts');
      return examineEverything(settingsInUse(settings), clock);
    }, clock),
    refuseRole: (operator, route, trace) => operators.refuseRole(operator, route, trace),
    refuse: async (reason, trace) => anonymous.record({ event: 'admin.denied', reason }, trace),
  };
}

function overview(parts: ConsoleNeeds): Traceable<OverviewSurface> {
  const { settings, clockWatch } = parts;
  return traceable(parts, (storage) => ({
    countLive: async (of) => storage.tasks.countLive({ of, now: await clockWatch.earliest(), most: MOST_COUNTED }),
    countBlocks: () => storage.sponsors.countBlocks(MOST_COUNTED),
    liftPendingUntil: async (sponsorKey) => storage.sponsors.liftPendingUntil(sponsorKey, await clockWatch.earliest()),
    backlog: () => storage.backlog(),
    hasSink: sinkChoice(settings) !== undefined,
    twoPersons: settings['Service:Operators:TwoPersonUnblock'],
    statusLists: statusListReach(settings),
  }));
}

function sessions(parts: ConsoleNeeds, storage: Storage, provider: SignIn): ConsoleSessions {
  const service = sessionService(parts, storage);
  const by = (read: typeof peekOperatorsSession) => async (cookies: string) => {
    const secret = consoleCookies.sessionSecret(cookies);
    const session = secret === undefined ? undefined : await read(service, secret);
    if (secret === undefined || session === undefined) return undefined;
    const idToken = keptIdToken(sealing, secret, session);
    const signsOutEverywhere = await provider.offersSignOut();
    return { operator: session.operator, formToken: formTokenOf(secret), idToken, signsOutEverywhere };
  };
  return {
    find: by((_part, secret) => useOperatorsSession(service, secret)),
    peek: by(peekOperatorsSession),
  };
}

function sessionService({ settings, clockWatch, randomness }: ConsoleNeeds, storage: Storage) {
  return {
    ...{ decisions: storage, operatorSessions: storage.operatorSessions, sharedTime: clockWatch, randomness, sealing },
    digest: consoleDigest(settings),
  };
}

/** Bound to the settings that say who an operator is, and that give roles. */
export function consoleDigest(settings: Settings): Digest {
  const { issuer, roleClaim, roles } = operatorsChoice(settings) ?? {};
  return sessionDigest(settings, [issuer, settings['Service:Operators:ClientId'], roleClaim, roles]);
}

/** The client of the console at the operators' identity provider. */
function consoleSignIn(
  parts: ConsoleNeeds,
  {
    origin,
    clientId,
    clientSecret,
  }: { readonly origin: string; readonly clientId: string; readonly clientSecret: Secret | undefined },
): SignIn {
  const { settings } = parts;
  const { roleClaim } = operatorClaims(settings);
  const client = {
    ...{ clientId, clientSecret, redirectUri: `${origin}/callback`, signedOutUri: `${origin}/signed-out` },
    assertionAudience: settings['Service:UpstreamIdp:ClientAssertionAudience'],
    // An operator need not be a person whom agents act for.
    sponsorKeyClaim: 'sub',
    moreClaims: [settings['Service:UpstreamIdp:SponsorKeyClaim'], ...roleClaim.split('.', 1)],
  };
  return signInAtFirstUse(client, {
    ...parts,
    metadata: parts.operatorMetadata ?? parts.providerMetadata,
    providerKeys: parts.operatorKeys ?? parts.providerKeys,
  });
}

function operatorClaims(settings: Settings): OperatorClaims {
  const chosen = operatorsChoice(settings);
  if (chosen === undefined) throw new Error('the console is opened without operators');
  const sponsorKeyClaim = settings['Service:UpstreamIdp:SponsorKeyClaim'];
  return { roleClaim: chosen.roleClaim, roles: chosen.roles, sponsorKeyClaim };
}

function signInSurface(parts: ConsoleNeeds, origin: string, provider: SignIn): Traceable<SignInSurface<'no_role'>> {
  const { settings, surfaces, randomness, anonymousDenials: anonymous } = parts;
  const claims = operatorClaims(settings);
  const { operators } = surfaces.admin;
  if (operators === undefined) throw new Error('the console is opened without operators');
  return traceable(parts, (storage) => {
    const service = sessionService(parts, storage);
    return {
      ...{ origin, provider, randomness },
      findSession: (cookies, trace) => sessions(parts, storage, provider).find(cookies, trace),
      async open(signedIn, earlier, trace) {
        const operator = operatorOf(signedIn, claims);
        if (operator.roles.length === 0) {
          // The session of the operator who used this browser before: this person must not use it.
          if (earlier !== undefined) await closeOperatorsSession(service, earlier);
          await operators.refuseRole(operator, 'GET /callback', trace);
          return { kind: 'refused', reason: 'no_role' };
        }
        const secret = await openOperatorsSession(service, operator, signedIn, earlier);
        return secret === undefined ? { kind: 'refused', reason: 'sign_in_ended' } : { kind: 'opened', secret };
      },
      close: (secret) => closeOperatorsSession(service, secret),
      refuse: async (reason, trace) => anonymous.record({ event: 'admin.denied', reason }, trace),
    };
  });
}
