/** Binds the console's use cases to their ports. It exists only with `Service:Console:Port`. */

import type { HttpApp } from '../../adapters/http/app.ts';
import type { BrowserSessions } from '../../adapters/http/browser/session.ts';
import type { SignInSurface } from '../../adapters/http/browser/sign-in.ts';
import { consoleApp } from '../../adapters/http/console/console-app.ts';
import type { ConsoleSurface } from '../../adapters/http/console/console-router.ts';
import { MOST_COUNTED, type OverviewSurface } from '../../adapters/http/console/context.ts';
import { consoleCookies } from '../../adapters/http/console/cookies.ts';
import { sharedExamination } from '../../application/doctor/shared-examination.ts';
import type { SignIn } from '../../application/ports/identity-provider.ts';
import type { Digest } from '../../application/ports/runtime.ts';
import { beginSession, endSession, type PageSessions } from '../../application/sessions.ts';
import { type OperatorClaims, type OperatorPerson, operatorIn } from '../../domain/operators/operator.ts';
import type { Secret } from '../../domain/secret.ts';
import { OPERATOR_SESSION_TTL, operatorOf } from '../../domain/sessions/session.ts';
import { settingsInUse } from '../doctor/settings.ts';
import type { Parts } from '../parts.ts';
import { consoleChoice, operatorsChoice, sinkChoice, statusListReach } from '../settings/alternatives.ts';
import type { Settings } from '../settings/settings.ts';
import { consoleClient } from '../settings/sign-in-clients.ts';
import { consoleViews } from './console-views.ts';
import { browserSessions, pageSessions, sessionDigest } from './page-sessions.ts';
import { signInAtFirstUse } from './provider-sign-in.ts';

/** @param clientSecret `undefined` for `private_key_jwt` */
export function openConsole(parts: Parts, clientSecret: Secret | undefined): HttpApp {
  const { settings, surfaces } = parts;
  const chosen = consoleChoice(settings);
  if (chosen === undefined) throw new Error('the console is opened without its settings');
  const provider = consoleSignIn(parts, clientSecret);
  return consoleApp({
    ...surfaces,
    screens: screens(parts, chosen.origin, provider),
    signIn: signInSurface(parts, chosen.origin, provider),
  });
}

function screens(parts: Parts, origin: string, provider: SignIn): ConsoleSurface {
  const { settings, surfaces, anonymousDenials: anonymous, clock, log } = parts;
  const { admin, audit } = surfaces;
  const { operators } = admin;
  if (operators === undefined) throw new Error('the console is opened without operators');
  return {
    origin,
    admin,
    audit,
    clock,
    log,
    overview: overview(parts),
    views: consoleViews(parts),
    sessions: consoleSessions(parts, provider),
    examine: sharedExamination(async () => {
      // Loaded by the first operator who asks.
      const { examineEverything } = await import('../doctor/examine-everything.ts');
      return examineEverything(settingsInUse(settings), clock);
    }, clock),
    refuseRole: (operator, route, trace) => operators.refuseRole(operator, route, trace),
    refuse: async (reason, trace) => anonymous.record({ event: 'admin.denied', reason }, trace),
  };
}

function overview(parts: Parts): OverviewSurface {
  const { settings, storage, clockWatch } = parts;
  return {
    countLive: async (of) => storage.tasks.countLive({ of, now: await clockWatch.earliest(), most: MOST_COUNTED }),
    earliest: () => clockWatch.earliest(),
    backlog: () => storage.backlog(),
    countWaiting: settings['Service:Approvals:Enabled']
      ? async () => storage.approvals.countWaiting({ now: await clockWatch.latest(), most: MOST_COUNTED })
      : undefined,
    hasSink: sinkChoice(settings) !== undefined,
    sealsEvery: settings['Service:Audit:Checkpoint:Interval'],
    mayStopEverything: settings['Service:Operators:StopEverything'],
    twoPersons: settings['Service:Operators:TwoPersonUnblock'],
    statusLists: statusListReach(settings),
  };
}

function consoleSessions(parts: Parts, provider: SignIn): BrowserSessions<OperatorPerson> {
  return browserSessions(sessionsOf(parts), consoleCookies, operatorOf, provider);
}

function sessionsOf(parts: Parts): PageSessions {
  const digest = consoleDigest(parts.settings);
  return pageSessions(parts, { kind: 'operator', ttl: OPERATOR_SESSION_TTL, digest });
}

/** Bound to the settings that say who an operator is, and that give roles. */
export function consoleDigest(settings: Settings): Digest {
  const { issuer, roleClaim, roles } = operatorsChoice(settings) ?? {};
  return sessionDigest(settings, [issuer, settings['Service:Operators:ClientId'], roleClaim, roles]);
}

/** The sign-in of the console at the operators' identity provider. */
function consoleSignIn(parts: Parts, clientSecret: Secret | undefined): SignIn {
  const client = consoleClient(parts.settings);
  if (client === undefined) throw new Error('the console is opened without operators');
  const provider = {
    metadata: parts.operatorMetadata ?? parts.providerMetadata,
    providerKeys: parts.operatorKeys ?? parts.providerKeys,
  };
  return signInAtFirstUse({ ...client, clientSecret }, provider, parts);
}

function operatorClaims(settings: Settings): OperatorClaims {
  const chosen = operatorsChoice(settings);
  if (chosen === undefined) throw new Error('the console is opened without operators');
  const sponsorKeyClaim = settings['Service:UpstreamIdp:SponsorKeyClaim'];
  return { roleClaim: chosen.roleClaim, roles: chosen.roles, sponsorKeyClaim };
}

function signInSurface(parts: Parts, origin: string, provider: SignIn): SignInSurface<'no_role'> {
  const { settings, surfaces, randomness, anonymousDenials: anonymous } = parts;
  const claims = operatorClaims(settings);
  const { operators } = surfaces.admin;
  if (operators === undefined) throw new Error('the console is opened without operators');
  const sessions = sessionsOf(parts);
  return {
    origin,
    provider,
    randomness,
    findSession: consoleSessions(parts, provider).find,
    async open(signedIn, earlier, trace) {
      const { issuer, person } = signedIn;
      const operator = operatorIn(signedIn.claims, claims, { issuer, subject: person.subject });
      if (operator.roles.length === 0) {
        // The session of the operator who used this browser before: this person must not use it.
        if (earlier !== undefined) await endSession(sessions, earlier);
        await operators.refuseRole(operator, 'GET /callback', trace);
        return { kind: 'refused', reason: 'no_role' };
      }
      const secret = await beginSession(sessions, { ...person, ...operator }, signedIn, earlier);
      return secret === undefined ? { kind: 'refused', reason: 'sign_in_ended' } : { kind: 'opened', secret };
    },
    close: (secret) => endSession(sessions, secret),
    refuse: async (reason, trace) => anonymous.record({ event: 'admin.denied', reason }, trace),
  };
}
