/** Operators with names: the settings of a service that has them, and their access tokens. */

import type { OperatorRole } from '../../domain/operators/operator.ts';
import type { Mandate } from './mandate.ts';

export const OPERATORS_AUDIENCE = 'https://mandate.example/operators';

/** The value of the claim for each role. */
export const ROLE_VALUES = {
  viewer: 'mandate-read',
  auditor: 'mandate-audit',
  registrar: 'mandate-agents',
  responder: 'mandate-stop',
} as const satisfies Readonly<Record<OperatorRole, string>>;

export const OPERATORS = {
  'Service:Operators:Audience': OPERATORS_AUDIENCE,
  'Service:Operators:Roles:Viewer': ROLE_VALUES.viewer,
  'Service:Operators:Roles:Auditor': ROLE_VALUES.auditor,
  'Service:Operators:Roles:Registrar': ROLE_VALUES.registrar,
  'Service:Operators:Roles:Responder': ROLE_VALUES.responder,
} as const;

/** Responders may end everything. */
export const STOP_EVERYTHING = { ...OPERATORS, 'Service:Operators:StopEverything': 'true' } as const;

export const TWO_PERSONS = { ...OPERATORS, 'Service:Operators:TwoPersonUnblock': 'true' } as const;

/** A person's access token for operators. Given claims replace the defaults; `undefined` removes one. */
export function operatorToken(
  { provider, clock }: Pick<Mandate, 'provider' | 'clock'>,
  claims: Readonly<Record<string, unknown>>,
): string {
  return provider.mintAccessToken({ aud: OPERATORS_AUDIENCE, sub: 'olga', exp: clock.seconds() + 3600, ...claims });
}
