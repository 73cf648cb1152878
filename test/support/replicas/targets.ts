/** A person and a session for one round, the agent, and the requests about them. */

import { randomUUID } from 'node:crypto';
import type { Answer, Form, LedgerLine, RegisteredAgent } from '../mandate.ts';
import type { Connection } from './connection.ts';
import { PERSON_CLAIM, type Replicas } from './replicas.ts';

export interface Target {
  readonly agent: RegisteredAgent;
  /** The `sub`, by which a logout names the person. */
  readonly subject: string;
  /** The sponsor key, by which blocks, SCIM and events name the person. */
  readonly key: string;
  readonly session: string;
}

/** @param nth if even, the sponsor key equals the subject */
export function aTarget(agent: RegisteredAgent, nth: number): Target {
  const subject = `sub-${randomUUID()}`;
  return { agent, subject, key: nth % 2 === 0 ? subject : `key-${randomUUID()}`, session: `session-${randomUUID()}` };
}

export function exchangeFor({ provider }: Replicas, { agent, subject, key, session }: Target): Form {
  const person = { sub: subject, [PERSON_CLAIM]: key, sid: session };
  return agent.exchangeForm({ subject_token: provider.mintAccessToken(person) });
}

export function exchange(replicas: Replicas, at: Connection, target: Target): Promise<Answer> {
  return at.post('/oauth2/token', exchangeFor(replicas, target));
}

export async function newTask(replicas: Replicas, at: Connection, target: Target): Promise<Answer> {
  const issued = await exchange(replicas, at, target);
  if (issued.status !== 200) throw new Error(`an exchange was answered ${issued.status}: ${issued.text}`);
  return issued;
}

export async function introspect(at: Connection, issued: Answer): Promise<Answer['body']> {
  const answer = await at.post('/oauth2/introspect', { token: String(issued.body.access_token) });
  if (answer.status !== 200) throw new Error(`an introspection was answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

export function refresh(at: Connection, { agent }: Target, issued: Answer, changes: Form = {}): Promise<Answer> {
  return at.post('/oauth2/token', agent.refreshForm(String(issued.body.refresh_token), changes));
}

/** The records of the person, and those of the target's agent that name no person. */
export function linesOf({ agent, subject, key }: Target, ledger: readonly LedgerLine[]): readonly LedgerLine[] {
  return ledger.filter(
    ({ sponsor, agent_id, event }) =>
      sponsor === subject ||
      sponsor === key ||
      (sponsor === null && agent_id === agent.id && event !== 'agent.registered'),
  );
}

export function inBrief({ event, reason }: LedgerLine): string {
  return reason === null ? String(event) : `${event} ${reason}`;
}
