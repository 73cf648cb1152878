/** What a browser shows if the page cannot be served: over the limits, and without the database. */

import { expect } from 'chai';
import { workLimiters } from '../../../../../adapters/http/admission/concurrency.ts';
import type { RateLimitRules } from '../../../../../adapters/http/admission/rate-limit.ts';
import { sendTo } from '../../../../support/mandate.ts';
import { type TroubledService, troubledService } from '../../../../support/openapi/troubled-service.ts';

const NONE_LEFT = { permitsPerMinute: 1, burst: 0 };
const NO_RATE: RateLimitRules = { main: NONE_LEFT, introspection: NONE_LEFT, signals: NONE_LEFT, trustedProxies: [] };
const BROWSER = { accept: 'text/html,application/xhtml+xml', 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' };
const COOKIE = `__Host-mandate-me=${'a'.repeat(43)}`;

describe("The person's page, if it cannot be served", () => {
  let service: TroubledService;
  before(async () => {
    service = await troubledService({ 'Service:Me:ClientId': 'mandate-page', 'Service:Issuer': 'https://m.example/x' });
  });
  after(() => service.stop());

  const open = (origin: string, headers: Record<string, string> = BROWSER, method = 'GET') =>
    sendTo(`${origin}/me${method === 'POST' ? '/tasks/stop' : ''}`, {
      method,
      headers: { cookie: COOKIE, ...headers },
    });
  const limited = {
    'too many requests': [429, 'Zu viele Anfragen', { rates: NO_RATE }],
    'a service at capacity': [
      503,
      'Der Dienst ist ausgelastet',
      { limiters: workLimiters({ concurrency: 0, queue: 0, waitMs: 0 }) },
    ],
  } as const;

  for (const [name, [status, title, limits]] of Object.entries(limited)) {
    for (const method of ['GET', 'POST']) {
      it(`is a page in the person's language that says so, and for a program problem details: ${name}, ${method}`, async () => {
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
      });
    }
  }

  for (const [trouble, status, title] of [
    ['storage_unavailable', 503, 'The service cannot reach its database'],
    ['fault', 500, 'Something went wrong'],
  ] as const) {
    it(`is a page that says whether anything took effect, and for a program problem details: ${trouble}`, async () => {
      const origin = await service.serve();
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
    });
  }
});
