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
import type { Storage } from '../adapters/storage/storage.ts';
import {
  closeOperatorsSession,
  openOperatorsSession,
  operatorOf,
  peekOperatorsSession,
  useOperatorsSession,
} from '../application/admin/operator-sessions.ts';
import { sharedExamination } from '../application/doctor/shared-examination.ts';
import type { Digest } from '../application/ports/runtime.ts';
import type { Secret } from '../domain/secret.ts';
import { DEFAULT_LIST_MAX_AGE_SECONDS } from '../domain/tasks/status-list.ts';
import { consoleViews } from './console-views.ts';
import { settingsInUse } from './doctor/settings.ts';
import type { ConsoleNeeds } from './parts.ts';
import { signInAtFirstUse } from './provider-sign-in.ts';
import { sessionDigest } from './session-digest.ts';
import { consoleChoice, operatorsChoice, sinkChoice } from './settings/alternatives.ts';
import type { Settings } from './settings/settings.ts';
import { traceable } from './traces.ts';

/** @param clientSecret `undefined` for `private_key_jwt` */
export function openConsole(parts: ConsoleNeeds, clientSecret: Secret | undefined): HttpApp {
  const { settings, surfaces } = parts;
  const chosen = consoleChoice(settings);
  if (chosen === undefined) throw new Error('the console is opened without its settings');
  return consoleApp({
    ...surfaces,
    screens: screens(parts, chosen.origin),
    signIn: signIn(parts, { ...chosen, clientSecret }),
  });
}

function screens(parts: ConsoleNeeds, origin: string): ConsoleSurface {
  const { settings, storage, storageWithin, surfaces, anonymousDenials: anonymous, clock, log } = parts;
  const { admin, audit } = surfaces;
  const { operators } = admin;
  if (operators === undefined) throw new Error('the console is opened without operators');
  return {
    ...{ origin, admin, audit, clock, log, overview: overview(parts), views: consoleViews(parts) },
    sessions: {
      find: (cookies, trace) => sessions(parts, (trace && storageWithin?.(trace)) ?? storage).find(cookies, trace),
      peek: (cookies, trace) => sessions(parts, (trace && storageWithin?.(trace)) ?? storage).peek(cookies, trace),
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
    statusLists: settings['Service:StatusLists:Enabled']
      ? settings['Service:StatusLists:Ttl'] + DEFAULT_LIST_MAX_AGE_SECONDS
      : undefined,
  }));
}

function sessions(parts: ConsoleNeeds, storage: Storage): ConsoleSessions {
  const service = sessionService(parts, storage);
  const by = (read: typeof peekOperatorsSession) => async (cookies: string) => {
    const secret = consoleCookies.sessionSecret(cookies);
    const session = secret === undefined ? undefined : await read(service, secret);
    return secret === undefined || session === undefined
      ? undefined
      : { operator: session.operator, formToken: formTokenOf(secret) };
  };
  return {
    find: by((_part, secret) => useOperatorsSession(service, secret)),
    peek: by(peekOperatorsSession),
  };
}

function sessionService({ settings, clockWatch, randomness }: ConsoleNeeds, storage: Storage) {
  return {
    ...{ decisions: storage, operatorSessions: storage.operatorSessions, sharedTime: clockWatch, randomness },
    digest: consoleDigest(settings),
  };
}

/** Bound to the settings that say who an operator is, and that give roles. */
export function consoleDigest(settings: Settings): Digest {
  const { issuer, roleClaim, roles } = operatorsChoice(settings) ?? {};
  return sessionDigest(settings, [issuer, settings['Service:Operators:ClientId'], roleClaim, roles]);
}

function signIn(
  parts: ConsoleNeeds,
  {
    origin,
    clientId,
    clientSecret,
  }: { readonly origin: string; readonly clientId: string; readonly clientSecret: Secret | undefined },
): Traceable<SignInSurface<'no_role'>> {
  const { settings, surfaces, randomness, anonymousDenials: anonymous } = parts;
  const chosen = operatorsChoice(settings);
  const { operators } = surfaces.admin;
  if (chosen === undefined || operators === undefined) throw new Error('the console is opened without operators');
  const sponsorKeyClaim = settings['Service:UpstreamIdp:SponsorKeyClaim'];
  const claims = { roleClaim: chosen.roleClaim, roles: chosen.roles, sponsorKeyClaim };
  const client = {
    ...{ clientId, clientSecret, redirectUri: `${origin}/callback` },
    assertionAudience: settings['Service:UpstreamIdp:ClientAssertionAudience'],
    // An operator need not be a person whom agents act for.
    sponsorKeyClaim: 'sub',
    moreClaims: [sponsorKeyClaim, ...chosen.roleClaim.split('.', 1)],
  };
  const provider = signInAtFirstUse(client, {
    ...parts,
    metadata: parts.operatorMetadata ?? parts.providerMetadata,
    providerKeys: parts.operatorKeys ?? parts.providerKeys,
  });
  return traceable(parts, (storage) => {
    const service = sessionService(parts, storage);
    return {
      ...{ origin, provider, randomness },
      findSession: (cookies, trace) => sessions(parts, storage).find(cookies, trace),
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
