/** What a browser shows if the page cannot be served: over the limits, and without the database. */

import { expect } from 'chai';
import { workLimiters } from '../../../../../adapters/http/admission/concurrency.ts';
import type { RateLimitRules } from '../../../../../adapters/http/admission/rate-limit.ts';
import { eventually } from '../../../../support/eventually.ts';
import { sendTo } from '../../../../support/mandate.ts';
import { type TroubledService, troubledService } from '../../../../support/openapi/troubled-service.ts';

const NONE_LEFT = { permitsPerMinute: 1, burst: 0 };
const NO_RATE: RateLimitRules = { main: NONE_LEFT, introspection: NONE_LEFT, signals: NONE_LEFT, trustedProxies: [] };
const BROWSER = { accept: 'text/html,application/xhtml+xml', 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' };
const COOKIE = `__Host-mandate-me=${'a'.repeat(43)}`;

describe("The person's page, if it cannot be served", () => {
  let service: TroubledService;
  before(async () => {
    service = await troubledService({
      'Service:Me:ClientId': 'mandate-page',
      'Service:Issuer': 'https://m.example/x',
      'Service:Audit:Aggregation:Enabled': 'false',
    });
  });
  after(() => service.stop());

  /** Event, decision, reason and person of every record, oldest first. */
  const ledger = async () => {
    const answer = await service.surfaces.audit.query({ filters: {}, limit: 1000, cursor: undefined });
    if (answer.kind !== 'page') throw new Error('the ledger has no page');
    return answer.records.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor]);
  };

  const open = (origin: string, headers: Record<string, string> = BROWSER, method = 'GET') =>
    sendTo(`${origin}/me${method === 'POST' ? '/tasks/stop' : ''}`, {
      method,
      headers: { cookie: COOKIE, ...headers },
    });
  const limited = {
    'too many requests': [429, 'Zu viele Anfragen', 'rate_limited', { rates: NO_RATE }],
    'a service at capacity': [
      503,
      'Der Dienst ist ausgelastet',
      'overloaded',
      { limiters: workLimiters({ concurrency: 0, queue: 0, waitMs: 0 }) },
    ],
  } as const;

  for (const [name, [status, title, reason, limits]] of Object.entries(limited)) {
    for (const method of ['GET', 'POST']) {
      it(`is a page in the person's language that says so, for a program problem details, and recorded: ${name}, ${method}`, async () => {
        const before = (await ledger()).length;
        const origin = await service.serve({ admission: service.admission(limits) });
        const page = await open(origin, BROWSER, method);
        expect(page.status).to.equal(status);
        expect(page.text).to.contain(`<h1>${title}</h1>`).and.to.contain('<html lang="de"').and.contain('href="/x/me"');
        expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8');
        expect(page.headers.get('content-security-policy')).to.contain("default-src 'none'");
        expect(page.headers.get('cache-control')).to.equal('no-store');
        expect(Number(page.headers.get('retry-after'))).to.be.greaterThan(0);
        const problem = await open(origin, { accept: 'application/json' }, method);
        expect([problem.status, problem.body.status]).to.deep.equal([status, status]);
        // On a slow machine the answer does not wait for its record.
        await eventually(async () => (await ledger()).length >= before + 2);
        const denied = ['me.denied', 'deny', reason, undefined];
        expect((await ledger()).slice(before)).to.deep.equal([denied, denied]);
      });
    }
  }

  for (const [trouble, status, title] of [
    ['storage_unavailable', 503, 'The service cannot reach its database'],
    ['fault', 500, 'Something went wrong'],
  ] as const) {
    it(`is a page that says whether anything took effect, for a program problem details, and records no refusal: ${trouble}`, async () => {
      const { me } = service.surfaces;
      const refused: string[] = [];
      const refuse = async (reason: string) => void refused.push(reason);
      const origin = await service.serve({ me: me && { ...me, api: { ...me.api, refuse } } });
      service.trouble = trouble;
      const page = await open(origin, { accept: 'text/html' });
      const callback = await sendTo(`${origin}/me/callback`, { headers: { cookie: COOKIE, accept: 'text/html' } });
      const problem = await open(origin, { accept: '*/*' });
      service.trouble = undefined;
      for (const { status: actual, text, headers } of [page, callback]) {
        expect(actual).to.equal(status);
        expect(text).to.contain(`<h1>${title}</h1>`);
        expect(headers.get('retry-after') !== null).to.equal(status === 503);
      }
      expect(problem.headers.get('content-type')).to.contain('application/problem+json');
      expect(problem.status).to.equal(status);
      expect(refused).to.deep.equal([]);
    });
  }
});
