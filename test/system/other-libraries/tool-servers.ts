/** Tool servers with other libraries than ours, set up as their READMEs say. docs/tool-servers.md shows lines of this file. */

import { createServer } from 'node:http';
import fastifyJwt, { type TokenOrHeader } from '@fastify/jwt';
import express from 'express';
import { type AuthOptions, type AuthResult, auth, claimCheck, requiredScopes } from 'express-oauth2-jwt-bearer';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import buildGetJwks from 'get-jwks';
import { passportJwtSecret } from 'jwks-rsa';
import passport from 'passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { closeServer, listen } from '../../support/listening.ts';

interface Environment {
  readonly MANDATE_ISSUER: string;
  readonly AUDIENCE: string;
  /** Only for express-oauth2-jwt-bearer: the others have no such limit. */
  readonly keyLimits?: Pick<AuthOptions, 'cooldownDuration'>;
  /** Only for Fastify: adds hooks of the test. */
  readonly prepare?: (app: FastifyInstance) => void;
}

export interface StartedServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The members of a task token that these libraries do not know. */
interface Claims {
  readonly [name: string]: unknown;
  readonly act?: { readonly sub: string; readonly depth: number; readonly act?: unknown };
}

const isTaskToken = ({ sub, jti, act, introspect_required }: Claims) =>
  typeof sub === 'string' &&
  !/^agent:/i.test(sub) &&
  typeof jti === 'string' &&
  /^agent:./.test(String(act?.sub)) &&
  act?.depth === 1 &&
  act.act === undefined &&
  introspect_required === undefined;

const hasScope = ({ scope }: Claims, needed: string) => String(scope).split(' ').includes(needed);

export async function withExpress({ MANDATE_ISSUER, AUDIENCE, keyLimits }: Environment): Promise<StartedServer> {
  const app = express();
  app.use(
    auth({
      issuerBaseURL: MANDATE_ISSUER,
      audience: AUDIENCE,
      tokenSigningAlg: 'ES256',
      strict: true,
      ...keyLimits,
    }),
  );
  app.use(claimCheck((claims) => isTaskToken(claims as Claims)));

  app.get('/issues/:key', requiredScopes('jira:read'), (request, response) => {
    const { payload } = request.auth as unknown as AuthResult;
    response.json({ readFor: payload.sub, readBy: payload.act });
  });
  return serve(app);
}

export async function withFastify({ MANDATE_ISSUER, AUDIENCE, prepare }: Environment): Promise<StartedServer> {
  const app = fastify();
  prepare?.(app);
  const getJwks = buildGetJwks();
  await app.register(fastifyJwt, {
    decode: { complete: true },
    secret: (_request: FastifyRequest, token: TokenOrHeader) => {
      const { kid, alg } = token.header;
      return getJwks.getPublicKey({ kid, alg, domain: MANDATE_ISSUER });
    },
    verify: { algorithms: ['ES256'], checkTyp: 'at+jwt', allowedIss: MANDATE_ISSUER, allowedAud: AUDIENCE },
    trusted: (_request, claims) => isTaskToken(claims as Claims),
  });
  app.addHook('onRequest', async (request) => {
    // Without this, the errors of get-jwks and of checkTyp are answered with 500. Throw: after reply.send the handler
    // can still run, if the client hangs up while an onSend hook waits.
    await request
      .jwtVerify()
      .catch(() => Promise.reject(Object.assign(new Error('invalid_token'), { statusCode: 401 })));
  });

  app.get('/issues/:key', async (request, reply) => {
    const claims = request.user as Claims;
    if (!hasScope(claims, 'jira:read')) return reply.code(403).send({ error: 'insufficient_scope' });
    return { readFor: claims.sub, readBy: claims.act };
  });
  return started(app);
}

/** The example of both READMEs and no more. */
export async function withFastifyByItsReadme(): Promise<StartedServer> {
  const app = fastify();
  const getJwks = buildGetJwks();
  await app.register(fastifyJwt, {
    decode: { complete: true },
    secret: (_request: FastifyRequest, { header: { kid, alg }, payload: { iss } }: TokenOrHeader) =>
      getJwks.getPublicKey({ kid, domain: iss, alg }),
  });
  app.addHook('onRequest', (request) => request.jwtVerify());
  app.get('/issues/:key', async (request) => request.user);
  return started(app);
}

export async function withPassport({ MANDATE_ISSUER, AUDIENCE }: Environment): Promise<StartedServer> {
  const app = express();
  const authenticator = new passport.Passport();
  const strategy = new Strategy(
    {
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKeyProvider: passportJwtSecret({ jwksUri: `${MANDATE_ISSUER}/.well-known/jwks.json` }),
      algorithms: ['ES256'],
      issuer: MANDATE_ISSUER,
      audience: AUDIENCE,
      jsonWebTokenOptions: { complete: true },
    },
    ({ header, payload }, done) => done(null, header.typ === 'at+jwt' && isTaskToken(payload) && payload),
  );
  authenticator.use(strategy);

  app.get('/issues/:key', authenticator.authenticate('jwt', { session: false }), (request, response) => {
    const claims = request.user as Claims;
    if (!hasScope(claims, 'jira:read')) return void response.status(403).json({ error: 'insufficient_scope' });
    response.json({ readFor: claims.sub, readBy: claims.act });
  });
  return serve(app);
}

async function serve(app: express.Express): Promise<StartedServer> {
  // Express then prints no errors.
  app.set('env', 'test');
  const server = createServer(app);
  return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => closeServer(server) };
}

async function started(app: FastifyInstance): Promise<StartedServer> {
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
}
