/** The refusals that depend on the answer to an introspection. */

import { answering } from '../loopback.ts';
import { TOKEN_ID } from './control-plane.ts';
import { type RefusalCase, signed, VERIFIED } from './refusal-case.ts';

/** A case on the high-risk route, which introspects the token of each request. */
function asking(
  one: Omit<RefusalCase, 'route' | 'path' | 'known' | 'prepare'>,
  answer: RefusalCase['prepare'],
): RefusalCase {
  return {
    ...one,
    route: 'DELETE /issues/:key',
    path: '/issues/OPS-7',
    known: VERIFIED,
    ...(answer && { prepare: answer }),
  };
}

export function inactive(): readonly RefusalCase[] {
  const answered = (what: string, body: object, remark?: string) =>
    asking({ reason: 'not_active', what, ...(remark === undefined ? {} : { remark }) }, (plane) => {
      plane.answerIntrospection = answering(body);
    });
  const revoked = { active: false, revoked_at: '2030-03-17T17:46:40Z' };
  return [
    answered('an inactive token', { active: false }),
    answered('a revoked token', { ...revoked, revocation_reason: 'sponsor_blocked' }, 'Reason: sponsor_blocked.'),
    answered('a malformed revocation reason', { ...revoked, revocation_reason: '", error="' }),
    answered('an answer for another person', { active: true, sub: 'bob', jti: TOKEN_ID }),
    answered('an answer for another token', { active: true, sub: 'ada', jti: 'tok_01KAFX9Y2N8M4R7T6W5V3Q1P01' }),
    answered('an answer without a person', { active: true }),
    {
      reason: 'not_active',
      what: 'an inactive token with introspect_required',
      token: signed({ introspect_required: true }),
      prepare: (plane) => {
        plane.answerIntrospection = answering({ active: false, revocation_reason: 'agent_disabled' });
      },
      known: VERIFIED,
      remark: 'Reason: agent_disabled.',
    },
  ];
}

export function unavailable(): readonly RefusalCase[] {
  const answered = (what: string, status: number, body: string, retryAfter?: string) =>
    asking({ reason: 'introspection_unavailable', what, ...(retryAfter && { retryAfter }) }, (plane) => {
      plane.answerIntrospection = (_, response) => {
        response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end(body);
      };
    });
  return [
    answered('status 503', 503, '{"error":"temporarily_unavailable"}', '1'),
    answered('status 429', 429, '{"error":"slow_down"}', 'Sat, 21 Nov 2026 07:28:00 GMT'),
    answered('status 500 with an active answer', 500, `{"active":true,"sub":"ada","jti":"${TOKEN_ID}"}`),
    answered('an answer that is not JSON', 200, '<html>'),
    answered('an answer that repeats active', 200, `{"active":false,"active":true,"sub":"ada","jti":"${TOKEN_ID}"}`),
    answered('a string as active', 200, `{"active":"true","sub":"ada","jti":"${TOKEN_ID}"}`),
    answered(
      'an answer over 64 KiB',
      200,
      `{"active":true,"sub":"ada","jti":"${TOKEN_ID}","x":"${'x'.repeat(70_000)}"}`,
    ),
    asking({ reason: 'introspection_unavailable', what: 'a redirect' }, (plane) => {
      plane.answerIntrospection = (_, response) => response.writeHead(307, { location: plane.issuer }).end();
    }),
    asking({ reason: 'introspection_unavailable', what: 'a cut connection' }, (plane) => {
      plane.answerIntrospection = (_, response) => response.socket?.destroy();
    }),
  ];
}
