/**
 * Expects that a request had no effect: neither a record nor a log line of a handled request. The requests carry the
 * admin key and a valid registration, so that one that reached its handler would leave a record.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ADMIN_KEY, aRegistration, type LedgerLine, type Mandate } from '../mandate.ts';
import type { RawAnswer } from './send-bytes.ts';

export interface Effects {
  readonly records: readonly LedgerLine[];
  /** Each request in the log as `METHOD route status`. The status is `aborted` if the handler sent no response. */
  readonly served: readonly string[];
}

/** How long to wait for the expected log lines. */
const LOGGED_WITHIN_MS = 5_000;

/** @param requests how many log lines of requests to wait for */
export async function effectsOf(mandate: Mandate, act: () => Promise<unknown>, requests = 0): Promise<Effects> {
  mandate.log.lines.splice(0);
  const served: string[] = [];
  const records = await mandate.recorded(async () => {
    mandate.log.lines.splice(0);
    await act();
    // The service logs a request after its response, which the client may receive earlier.
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

export async function expectNoEffect(mandate: Mandate, act: () => Promise<unknown>): Promise<void> {
  expect(await effectsOf(mandate, act)).to.deep.equal({ records: [], served: [] });
}

let registrations = 0;

/** A valid registration, each time with another id. */
export function registration(): string {
  registrations += 1;
  return JSON.stringify(
    aRegistration({ agent_id: `carried-${registrations}`, jwks_uri: 'https://keys.example/jwks.json' }),
  );
}

/** The headers of an admin request, except those about its body. */
export const ADMIN_HEADERS = `Host: mandate.test\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n`;

/** A complete and valid registration request. */
export function wholeRegistration(more = ''): string {
  const body = registration();
  return `POST /admin/agents HTTP/1.1\r\n${ADMIN_HEADERS}${more}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Expects one fixed refusal, without any text of the request, and the end of the connection. */
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
