/** A tool server without our library: one route whose every call the person has to approve, with node:http and jose alone. */

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createRemoteJWKSet, importJWK, type JWTPayload, jwtVerify, SignJWT } from 'jose';

const { MANDATE_ISSUER = '', AUDIENCE = '', APPROVAL_KEY = '', PORT = '0' } = process.env;

const jwk = JSON.parse(readFileSync(APPROVAL_KEY, 'utf8'));
const key = await importJWK(jwk, 'ES256');
const keys = createRemoteJWKSet(new URL(`${MANDATE_ISSUER}/.well-known/jwks.json`));

interface Answer {
  readonly status: number;
  readonly body: object;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

/** The claims of a task token for this server; `undefined` for any other token. */
async function claimsOf(
  token: string,
): Promise<(JWTPayload & { readonly task?: { readonly id: string } }) | undefined> {
  const verified = await jwtVerify<{ readonly act?: { readonly sub: string; readonly depth: number } }>(token, keys, {
    issuer: MANDATE_ISSUER,
    audience: AUDIENCE,
    algorithms: ['ES256'],
    typ: 'at+jwt',
    clockTolerance: 60,
    requiredClaims: ['sub', 'exp', 'iat', 'jti', 'task'],
  }).catch(() => undefined);
  const { act, sub = 'agent:' } = verified?.payload ?? {};
  const isOfAgent = act?.sub.startsWith('agent:') && act.depth === 1 && !/^agent:/i.test(sub);
  return isOfAgent ? verified?.payload : undefined;
}

/** Asks the control plane. Only the state `granted` lets the call through, and it comes exactly once. */
async function askForApproval(token: string, taskId: string, digest: string, title: string) {
  const request = await new SignJWT({ task_id: taskId, digest, title, lines: [] })
    .setProtectedHeader({ alg: 'ES256', typ: 'approval-request+jwt', kid: jwk.kid })
    .setIssuer(AUDIENCE)
    .setAudience(MANDATE_ISSUER)
    .setIssuedAt()
    .setExpirationTime('60s')
    .setJti(randomUUID())
    .sign(key);
  const body = new URLSearchParams({ token, request });
  const answer = await fetch(`${MANDATE_ISSUER}/oauth2/approval`, { method: 'POST', body, redirect: 'error' });
  if (answer.status !== 200) throw new Error(`The control plane answered ${answer.status}.`);
  return (await answer.json()) as {
    readonly state: string;
    readonly approval_uri?: string;
    readonly interval?: number;
  };
}

/** `DELETE /pages/{name}`, without a body. Everything that the call does is in its method and target. */
async function decide({ method = '', url = '', headers }: IncomingMessage): Promise<Answer> {
  const [, token = ''] = /^Bearer ([^ ]+)$/i.exec(headers.authorization ?? '') ?? [];
  const claims = await claimsOf(token);
  if (claims?.task === undefined) return { status: 401, body: { error: 'invalid_token' } };
  const isAllowed = String(claims.scope).split(' ').includes('pages:delete');
  const [, name] = /^\/pages\/([a-z0-9-]{1,60})$/.exec(url) ?? [];
  if (!isAllowed || method !== 'DELETE' || name === undefined)
    return { status: 403, body: { error: 'insufficient_scope' } };

  const call = JSON.stringify([AUDIENCE, method, url]);
  const digest = createHash('sha256').update(call).digest('base64url');
  const { state, approval_uri, interval } = await askForApproval(
    token,
    claims.task.id,
    digest,
    `Delete the page ${name}`,
  );
  if (state === 'granted') return { status: 200, body: { deleted: name } };
  if (state === 'inactive') return { status: 401, body: { error: 'invalid_token' } };
  const error = state === 'pending' ? 'approval_required' : `approval_${state}`;
  return { status: 403, body: { error, reason: error, approval_uri }, retryAfter: interval };
}

const server = createServer((request, response) => {
  const unavailable: Answer = { status: 503, body: { error: 'temporarily_unavailable' } };
  const send = ({ status, body, retryAfter }: Answer) => {
    const text = JSON.stringify(body);
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(text);
  };
  // `setHeader` throws for a value with a line break. A rejection that nobody handles ends the process.
  decide(request)
    .then(send)
    .catch(() => send(unavailable));
});

server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
