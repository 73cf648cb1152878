/** A request that the OAuth endpoints refuse, and the ways to make one that has a single fault. */

import { expect } from 'chai';
import type { AgentKey } from '../../support/agents/agent-key.ts';
import type { Answer, Form, Mandate, RegisteredAgent } from '../../support/mandate.ts';

export interface Setting {
  readonly mandate: Mandate;
  readonly agent: RegisteredAgent;
  readonly stranger: AgentKey;
}

export type Act = (setting: Setting) => Promise<Answer>;

export interface Case {
  readonly reason: string;
  readonly when: string;
  readonly act: Act;
  /** The sponsor in the record. `null` means an agent and no sponsor, and an absent value means neither. */
  readonly sponsor?: string | null;
}

export const ADA = 'ada';
export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export const seconds = () => Math.floor(Date.now() / 1000);
export const subject = ({ mandate }: Setting, claims: Readonly<Record<string, unknown>>, header = {}) =>
  mandate.provider.mintAccessToken(claims, header);

export function denied(reason: string, when: string, act: Act, sponsor?: string | null): Case {
  return sponsor === undefined ? { reason, when, act } : { reason, when, act, sponsor };
}

/** An exchange with these parameters instead of the defaults. */
export function exchangeCase(reason: string, when: string, form: Form, sponsor?: string): Case {
  return denied(reason, when, ({ agent }) => agent.exchange(form), sponsor);
}

/** An exchange with this assertion. */
export function assertionCase(
  reason: string,
  when: string,
  assertion: (setting: Setting) => string | undefined,
  sponsor?: null,
): Case {
  return denied(reason, when, (setting) => setting.agent.exchange({ actor_token: assertion(setting) }), sponsor);
}

/** An exchange with a client_assertion and a valid actor_token. */
export function clientAssertionCase(
  reason: string,
  what: string,
  clientAssertion: (setting: Setting, form: Form) => string | undefined | Promise<string>,
  sponsor: string | null = null,
): Case {
  const act = async (setting: Setting) => {
    const form = setting.agent.exchangeForm({ client_assertion_type: JWT_BEARER });
    return setting.agent.exchange({ ...form, client_assertion: await clientAssertion(setting, form) });
  };
  return denied(reason, `the client_assertion beside an actor_token is ${what}`, act, sponsor);
}

/** An exchange with this subject token. */
export function subjectCase(
  reason: string,
  when: string,
  token: (setting: Setting) => string,
  sponsor: string | null = null,
): Case {
  return denied(reason, when, (setting) => setting.agent.exchange({ subject_token: token(setting) }), sponsor);
}

/** A refresh of a new task, after `prepare`. */
export function refreshCase(
  reason: string,
  when: string,
  prepare: Act | undefined,
  form: Form,
  sponsor: string | null,
): Case {
  const act = async (setting: Setting) => {
    const grant = await setting.agent.grant();
    if (prepare !== undefined) expect((await prepare(setting)).status).to.equal(200);
    return setting.agent.refresh(grant, form);
  };
  return denied(reason, when, act, sponsor);
}

export const patched =
  (changes: Readonly<Record<string, unknown>>): Act =>
  ({ mandate, agent }) =>
    mandate.admin('PATCH', `/admin/agents/${agent.id}`, changes);

/** A time in the past, in the format of each engine. */
export const LONG_AGO = { sqlite: '1', postgres: "timestamptz '2020-01-01'" } as const;
