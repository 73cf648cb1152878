/**
 * Binds the operators with names (`Service:Operators`) to their ports: their authentication, and the records of their
 * acts.
 */

import type { OperatorAccess } from '../adapters/http/admin/operators.ts';
import { strangersWait } from '../adapters/jose/key-waits.ts';
import { sha256 } from '../adapters/platform/system-crypto.ts';
import { explaining } from '../application/admin/explaining.ts';
import { validateOperator } from '../application/authentication/validate-operator.ts';
import { refuseOperator } from '../application/decisions/operator-act.ts';
import { denied } from '../application/outcome.ts';
import { refusedActDetail } from '../domain/operators/operator-act.ts';
import type { Parts } from './parts.ts';
import { operatorsChoice } from './settings/alternatives.ts';

/** `undefined` if the admin key is the only way in. */
export function operators(parts: Parts): Parts['operators'] {
  const { settings, storage, providerKeys, operatorKeys, anonymousDenials, clock, clockWatch } = parts;
  const chosen = operatorsChoice(settings);
  if (chosen === undefined) return undefined;
  const { audience, roleClaim, roles, twoPersons, mayStopEverything } = chosen;
  const validation = {
    providerKeys: (operatorKeys ?? providerKeys).at(strangersWait()),
    clock,
    sharedTime: clockWatch,
    roleClaim,
    roles,
    // A token for both would be in the hands of agents.
    foreignAudience: settings['Service:UpstreamIdp:Audience'],
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    refuseBound: settings['Service:UpstreamIdp:RefuseBoundTokens'],
  };
  const access: OperatorAccess = {
    mayStopEverything,
    validate: async (token, trace, permit) =>
      audience === undefined
        ? denied('subject_audience_mismatch')
        : validateOperator({ ...validation, audience }, token, trace, permit),
    refuseRole: (person, route) =>
      storage.decide(refuseOperator, {
        at: clock.now(),
        event: 'admin.denied',
        decision: 'deny',
        reason: 'operator_role_missing',
        detail: refusedActDetail(person, route),
      }),
    refuseUnchecked: async (trace) =>
      anonymousDenials.record({ event: 'admin.denied', reason: 'subject_keys_unavailable' }, trace),
  };
  return {
    access,
    twoPersons,
    explain: (own, act) => explaining({ clock, randomness: parts.randomness, digest: sha256 }, own, act),
  };
}
