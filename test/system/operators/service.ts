/** A service with operators. */

import type { FreshDatabase, TestDatabase } from '../../support/databases.ts';
import { type Answer, type LedgerLine, type Mandate, startMandate } from '../../support/mandate.ts';
import { operatorToken, ROLE_VALUES, STOP_EVERYTHING, TWO_PERSONS } from '../../support/operators.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { logKeySettings } from '../../support/transparency-log.ts';

export const WHY = 'The agent loops: incident 4711';

export type Claims = Readonly<Record<string, unknown>>;

export type Sent = {
  readonly body?: unknown;
  readonly reason?: string | undefined;
  readonly headers?: Record<string, string>;
};

/** Sends a request with this bearer token. */
export function sendAs(
  mandate: Mandate,
  token: string,
  route: string,
  { body, reason, headers }: Sent = {},
): Promise<Answer> {
  const [method = '', path = ''] = route.split(' ');
  return mandate.send(path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(reason === undefined ? {} : { 'mandate-reason': reason }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** An operator of one sub and these roles. Every change has a reason. */
export function operator(mandate: Mandate, sub: string, ...roles: readonly (keyof typeof ROLE_VALUES)[]) {
  const token = operatorToken(mandate, { sub, roles: roles.map((role) => ROLE_VALUES[role]) });
  return (route: string, sent: Sent = {}) => sendAs(mandate, token, route, { reason: WHY, ...sent });
}

export const detailOf = ({ detail }: LedgerLine) => Object.fromEntries(new URLSearchParams(String(detail)));

export const isAct = ({ event }: LedgerLine) => event === 'operator.acted';

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function serviceWithOperators(database: TestDatabase) {
  let fresh: FreshDatabase;
  let mandate: Mandate;
  const key = sharedSigningKey();

  before(async () => {
    fresh = await database.fresh();
    mandate = await startMandate({
      database: { ...database, fresh: async () => fresh },
      settings: {
        ...key,
        ...TWO_PERSONS,
        ...STOP_EVERYTHING,
        ...logKeySettings(),
        'Service:Delegation:Enabled': 'true',
      },
    });
    await mandate.untilReady();
  });

  after(() => mandate.stop());

  return {
    get fresh() {
      return fresh;
    },
    get mandate() {
      return mandate;
    },
    key,
  };
}

export type ServiceWithOperators = ReturnType<typeof serviceWithOperators>;
