/**
 * That a request reached nobody: the ledger is as it was, and nothing is logged of a request that was served. The
 * requests of these suites carry the admin key and would register an agent, so that one that is reached leaves a record.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ADMIN_KEY, type LedgerLine, type Mandate } from '../mandate.ts';
import type { RawAnswer } from './raw-conversation.ts';

export interface Reached {
  readonly records: readonly LedgerLine[];
  /** What the request log said, as `METHOD route status`, with `aborted` where no answer of a handler went out. */
  readonly served: readonly string[];
}

/** A line that is not written by then is none. */
const LOGGED_WITHIN_MS = 5_000;

/** @param requests how many are to be logged: nobody waits for longer than a moment for more */
export async function reachedBy(mandate: Mandate, act: () => Promise<unknown>, requests = 0): Promise<Reached> {
  mandate.log.lines.splice(0);
  const served: string[] = [];
  const records = await mandate.recorded(async () => {
    mandate.log.lines.splice(0);
    await act();
    // A line is written once its answer is out, which its client may know first.
    const logged = () => mandate.log.lines.filter((text) => JSON.parse(text).message === 'request').length;
    const until = performance.now() + LOGGED_WITHIN_MS;
    await pause(3);
    while (logged() < requests && performance.now() < until) await pause(3);
    for (const text of mandate.log.lines.splice(0)) {
      const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
      if (line.level === 'error') throw new Error(`an error was logged: ${text}`);
      if (line.message !== 'request') continue;
      served.push(`${line.method} ${line.route} ${line.aborted === true ? 'aborted' : line.status}`);
    }
  });
  return { records, served };
}

export async function expectUntouched(mandate: Mandate, act: () => Promise<unknown>): Promise<void> {
  expect(await reachedBy(mandate, act)).to.deep.equal({ records: [], served: [] });
}

let carried = 0;

/** A registration that would be accepted; another one each time. */
export function registration(): string {
  carried += 1;
  return JSON.stringify({
    agent_id: `carried-${carried}`,
    display_name: 'Carried in',
    sponsor_required: true,
    allowed_scopes: ['jira:read'],
    allowed_audiences: ['https://jira.example'],
    max_delegation_depth: 1,
    jwks_uri: 'https://keys.example/jwks.json',
  });
}

/** What an admin's request has besides what says how its body is framed. */
export const ADMIN_HEADERS = `Host: mandate.test\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n`;

/** A whole request, well-formed and allowed. */
export function wholeRegistration(more = ''): string {
  const body = registration();
  return `POST /admin/agents HTTP/1.1\r\n${ADMIN_HEADERS}${more}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** The one answer of a service that refuses a connection: fixed words, nothing sent given back, and the end. */
export function expectRefused(
  conversation: { text: string; answers: readonly RawAnswer[]; end: string },
  status = 400,
): void {
  expect(conversation.answers.map((answer) => answer.status)).to.deep.equal([status]);
  const [answer] = conversation.answers;
  expect(answer?.headers.get('connection')).to.equal('close');
  expect(answer?.headers.get('content-type')).to.equal('application/problem+json; charset=utf-8');
  expect(JSON.parse(answer?.body ?? ''))
    .to.have.all.keys('type', 'title', 'status', 'detail')
    .and.include({ status });
  expect(conversation.text.length).to.be.below(500);
  expect(conversation.text).not.to.match(/carried|Bearer|mandate\.test|admin/);
  expect(conversation.end).to.equal('closed');
}
