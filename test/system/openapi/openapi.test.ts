/** Sends every example request of the OpenAPI document, and compares every response in it with a real one. */

import { expect } from 'chai';
import { workLimiters } from '../../../adapters/http/admission/concurrency.ts';
import { works } from '../../../adapters/http/routes.ts';
import type { TimeLimits } from '../../../adapters/http/server/server.ts';
import { listenForScrapes } from '../../../adapters/telemetry/scrape-listener.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { databasesByLength } from '../../support/databases.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { type RawAnswer, sendBytes } from '../../support/hostile/send-bytes.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { answering } from '../../support/loopback.ts';
import {
  ADMIN_KEY,
  type Answer,
  encodeForm,
  type Mandate,
  type RegisteredAgent,
  registerAgent,
  sendTo,
  startMandate,
} from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import {
  anyPathResponses,
  type Described,
  examplesOf,
  type Operation,
  operationOf,
  operations,
  type Placed,
} from '../../support/openapi/api-document.ts';
import { confirm, confirmResponse, wasSeen } from '../../support/openapi/confirm.ts';
import { type Changes, presentMeToken, sendExample, targetOf, wasSent } from '../../support/openapi/send-example.ts';
import { ME_AUDIENCE, type TroubledService, troubledService } from '../../support/openapi/troubled-service.ts';
import { operatorToken, ROLE_VALUES, STOP_EVERYTHING, TWO_PERSONS } from '../../support/operators.ts';
import { scimSettings } from '../../support/scim-client.ts';
import { EVERY_RECEIVER, startTransmitter, type Transmitter } from '../../support/transmitter.ts';
import { logKeySettings } from '../../support/transparency-log.ts';
import { startUserDirectory, type UserDirectory } from '../../support/user-directory.ts';
import { SESSION_REVOKED, scenarios, type World } from './scenarios.ts';

const METRICS = operationOf('getMetrics');
/** The operations of the main port, which does not serve the metrics. */
const served = operations.filter((operation) => operation !== METRICS);
/** The operations with rate and concurrency limits; health checks have none. */
const limited = served.filter(({ path }) => path !== '/healthz' && path !== '/readyz');
/** Settings that turn off every receiver, and operators with names. */
const NO_RECEIVER = Object.fromEntries(
  Object.keys({ ...EVERY_RECEIVER, ...TWO_PERSONS, ...STOP_EVERYTHING }).map((key) => [key, '']),
);
/** The example of the answer to a wrong credential, by security scheme. */
const WRONG_CREDENTIAL: Readonly<Record<string, string>> = { adminKey: 'not_an_operator', meToken: 'invalid_token' };
const SILENT_PROVIDER = { 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' };

for (const database of databasesByLength) {
  describe(`The API on ${database.name}`, function () {
    this.timeout(60_000);
    let world: World;
    let transmitter: Transmitter;
    let directory: UserDirectory;
    const started: Pick<Mandate, 'stop'>[] = [];
    before(async () => {
      transmitter = await startTransmitter();
      directory = await startUserDirectory(answering({}, 500));
      const metricsPort = await freePort();
      const mandate = await startMandate({
        database,
        settings: {
          'Service:Issuer': 'https://mandate.example',
          'Service:Metrics:Port': String(metricsPort),
          'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
          ...scimSettings,
          ...transmitter.settings,
          'Service:StatusLists:Enabled': 'true',
          ...logKeySettings(),
          'Service:Me:Audience': ME_AUDIENCE,
          ...TWO_PERSONS,
          ...STOP_EVERYTHING,
        },
      });
      started.push(mandate);
      presentMeToken(tokenForMe(mandate.provider));
      const another = async (settings: Readonly<Record<string, string>>) => {
        const instance = await mandate.another({
          'Service:Metrics:Port': '',
          'Service:Audit:Log:Key:Pem': '',
          ...settings,
        });
        started.unshift(instance);
        return instance;
      };
      const oneUser = { 'Service:Scim:MaxUsers': '1' };
      world = {
        mandate,
        transmitter,
        agent: await registerAgent(mandate, { agent_id: 'jira-triage' }),
        lonely: await another({ ...NO_RECEIVER, ...SILENT_PROVIDER }),
        deaf: await another({ ...EVERY_RECEIVER, ...TWO_PERSONS, ...SILENT_PROVIDER, ...oneUser }),
        polling: await another({ ...directory.settings, 'Service:Operators:StopEverything': '' }),
        metricsUrl: `http://127.0.0.1:${metricsPort}`,
        userId: '',
      };
    });
    after(async () => {
      for (const service of started) await service.stop();
      await directory.server.close();
      await transmitter.stop();
    });

    for (const [key, arrange] of Object.entries(scenarios)) {
      const [id = '', status, example] = key.split(' ');
      it(`answers ${key}`, async () => {
        const operation = operationOf(id);
        const { changes, url = world.mandate.url, followUp } = await arrange(world);
        const answer = await sendExample(url, operation, changes, example);
        expect(answer.status, answer.text).to.equal(Number(status));
        confirm(operation, answer, example);
        await followUp?.(answer);
      });
    }

    for (const operation of served) {
      const { id, scheme, path } = operation;
      const send = (changes: Changes) => sendExample(world.mandate.url, operation, changes);

      if (scheme !== undefined) {
        it(`answers ${id} 401 without a credential, and with a wrong one`, async () => {
          for (const authorization of ['', 'Bearer wrong', 'Basic d3Jvbmc=']) {
            const answer = await send({ headers: { authorization } });
            expect(answer.status).to.equal(401);
            confirm(operation, answer, WRONG_CREDENTIAL[scheme] ?? 'invalid_api_key');
          }
          if (scheme !== 'meToken') return;
          const init = { method: operation.method.toUpperCase() };
          const answer = await sendTo(`${world.mandate.url}${targetOf(operation, {})}`, init);
          expect(answer.status).to.equal(401);
          confirm(operation, answer, 'missing_token');
        });
      }

      if (scheme === 'adminKey') {
        it(`answers ${id} 403 to a person without a role, and 400 to a change without a reason`, async () => {
          const as = (roles: readonly string[]) => {
            const authorization = `Bearer ${operatorToken(world.mandate, { roles })}`;
            return send({ headers: { authorization } });
          };
          const refused = await as([]);
          expect(refused.status).to.equal(403);
          const isExample = /the role responder/.test(String(refused.body.detail));
          confirm(operation, refused, isExample ? 'operator_role_missing' : undefined);
          if (operation.method === 'get') return;
          const unexplained = await as(Object.values(ROLE_VALUES));
          expect(unexplained.status).to.equal(400);
          confirm(operation, unexplained, 'reason_required');
        });
      }

      if (path.includes('{')) {
        it(`answers ${id} 400 for a path that is not UTF-8`, async () => {
          const answer = await send({
            path: {
              agent_id: '%FF',
              sponsor_key: '%FF',
              task_id: '%FF',
              seq: '%FF',
              id: '%FF',
              list_id: '%FF',
              level: '%FF',
            },
          });
          expect(answer.status).to.equal(400);
          expect(answer.body.detail).to.equal('The path is not well-formed.');
          confirm(
            operation,
            answer,
            exampleNames(operation, 400).find((name) => name === 'malformed_path'),
          );
        });
      }

      // The other tests do not depend on the database.
      if (database.engine !== 'sqlite') continue;
      it(`answers every malformed ${id} with a status in the document`, async () => {
        const bodies = ['', '{', 'null', 'a=1&a=2', '%', `{"a":"${'x'.repeat(70_000)}"}`, '{"a":1,"a":2}', '\u0000'];
        const types = ['text/plain', 'application/json; charset=latin1', 'application/x-www-form-urlencoded'];
        const tries: Changes[] = [
          ...(operation.body === undefined ? [] : bodies.map((text) => ({ text }))),
          ...(operation.body === undefined ? [] : types.map((type) => ({ headers: { 'content-type': type } }))),
          ...(operation.body === undefined ? [] : [{ headers: { 'content-encoding': 'gzip' } }]),
          { query: { limit: '-1', count: 'many', unknown: 'x' } },
          { path: { agent_id: 'UPPER', sponsor_key: '%20', task_id: 'x', seq: 'x', id: 'x' } },
          { headers: { accept: 'image/png' } },
        ];
        for (const changes of tries) confirm(operation, await send(changes));
      });
    }

    if (database.engine !== 'sqlite') return;

    it('answers HEAD like GET, without the body', async () => {
      for (const operation of served.filter(({ method }) => method === 'get')) {
        const answer = await sendExample(world.mandate.url, operation);
        const head = await sendExample(world.mandate.url, { ...operation, method: 'head' });
        expect(head.text).to.equal('');
        for (const name of ['content-type', 'cache-control', 'content-length']) {
          expect(head.headers.get(name), `${operation.id} ${name}`).to.equal(answer.headers.get(name));
        }
        expect(head.status, operation.id).to.equal(answer.status);
      }
    });

    it('answers each method that the document does not list with 405, and names the listed methods', async () => {
      const response = onAnyPath(405);
      const examples: Readonly<Record<string, string>> = {
        '/healthz': 'problem',
        '/oauth2/token': 'oauth',
        '/events': 'event',
        '/scim/v2/Users': 'scim',
      };
      for (const path of new Set(served.map((operation) => operation.path))) {
        const listed = served.filter((operation) => operation.path === path);
        const names = listed.map(({ method }) => method.toUpperCase());
        const allowed = names.includes('GET') ? ['HEAD', ...names] : names;
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          if (names.includes(method)) continue;
          const [first] = listed;
          if (first === undefined) continue;
          const answer = await sendExample(world.mandate.url, { ...first, method, body: undefined });
          expect(answer.status, `${method} ${path}`).to.equal(405);
          expect(answer.headers.get('allow')?.split(', '), path).to.have.members(allowed);
          confirmResponse(response, answer, examples[path], `${method} ${path}`);
        }
      }
    });
  });
}

/** A person's token, signed in now. */
function tokenForMe(provider: IdentityProvider): string {
  return provider.mintAccessToken({ aud: ME_AUDIENCE, auth_time: Math.floor(Date.now() / 1000) });
}

const CHECKPOINT: Checkpoint = {
  checkpointId: 1,
  firstSeq: 1,
  lastSeq: 12,
  treeSize: 12,
  rootHash: '0'.repeat(64),
  prevCheckpointHash: undefined,
  closedAt: NOON,
  kid: 'a-key',
  signature: '0'.repeat(128),
};

const SHORT: TimeLimits = { headMs: 200, requestMs: 400, idleMs: 2000, checkMs: 25 };
const HOST = 'Host: mandate.example\r\n';
const BROKEN_REQUESTS: readonly (readonly [status: number, example: string, bytes: string])[] = [
  [400, 'malformed', 'nonsense\r\n\r\n'],
  [400, 'target', `GET /a/../b HTTP/1.1\r\n${HOST}\r\n`],
  [400, 'host', 'GET / HTTP/1.1\r\n\r\n'],
  [400, 'framing', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  [400, 'tunnel', `CONNECT a.example:1 HTTP/1.1\r\n${HOST}\r\n`],
  [408, 'too_slow', 'GET / HTTP/1.1\r\n'],
  [413, 'chunk_too_large', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\n`],
  [414, 'target_too_long', `GET /${'x'.repeat(9_000)} HTTP/1.1\r\n${HOST}\r\n`],
  [417, 'expectation', `GET / HTTP/1.1\r\n${HOST}Expect: a-miracle\r\n\r\n`],
  [431, 'too_many_headers', `GET / HTTP/1.1\r\n${HOST}${'A: b\r\n'.repeat(120)}\r\n`],
  [431, 'head_too_large', `GET / HTTP/1.1\r\n${HOST}A: ${'b'.repeat(20_000)}\r\n\r\n`],
];

describe('The API while storage fails or limits are reached', () => {
  let service: TroubledService;
  let provider: IdentityProvider;
  let transmitter: Transmitter;
  let url: string;
  let agent: RegisteredAgent;
  let token: string;
  before(async () => {
    transmitter = await startTransmitter();
    provider = await startIdentityProvider();
    service = await troubledService({ 'Service:UpstreamIdp:Issuer': provider.issuer, ...transmitter.settings });
    url = await service.serve();
    presentMeToken(tokenForMe(provider));
    agent = await registerAgent(clientOf(url, { provider, clock: service.clock }), {});
    token = String((await agent.exchange()).body.access_token);
  });
  after(async () => {
    await service.stop();
    await provider.stop();
    await transmitter.stop();
  });
  afterEach(() => {
    service.trouble = undefined;
  });

  /** Changes that make each request valid up to its use of the database. */
  const changesFor = ({ id }: Operation): Changes => {
    if (id === 'requestToken') return { body: { ...agent.exchangeForm() } };
    if (id === 'introspectToken') return { body: { token } };
    if (id === 'revokeToken') return { body: { client_assertion: agent.assertion() } };
    if (id === 'receiveLogout') return { body: { logout_token: provider.signLogoutToken({ sub: 'ada' }) } };
    if (id === 'receiveEvent') return { text: transmitter.event(SESSION_REVOKED, 'ada') };
    return {};
  };

  for (const operation of served) {
    for (const [status, trouble] of [
      [503, 'storage_unavailable'],
      [500, 'fault'],
    ] as const) {
      if (!exampleNames(operation, status).includes(trouble)) continue;
      it(`answers ${operation.id} ${status} ${trouble}`, async () => {
        service.trouble = trouble;
        const answer = await sendExample(url, operation, changesFor(operation));
        expect(answer.status, answer.text).to.equal(status);
        confirm(operation, answer, trouble);
      });
    }
  }

  it('answers each limited operation 429 if the source has used up its rate', async () => {
    const clock = movedClock();
    clock.standStill();
    const rules = { permitsPerMinute: 60, burst: 1 };
    const rates = { main: rules, introspection: rules, signals: rules, trustedProxies: [] };
    const at = await service.serve({ admission: service.admission({ rates, clock }) });
    for (const operation of limited) {
      await sendExample(at, operation);
      const answer = await sendExample(at, operation);
      expect(answer.status, operation.id).to.equal(429);
      confirm(operation, answer, 'rate_limited');
    }
  });

  it('answers each limited operation 503 if no permit is free', async () => {
    const limiters = workLimiters({ concurrency: 1, queue: 0, waitMs: 1000 });
    for (const work of works) limiters[work].acquire(() => undefined);
    const at = await service.serve({ admission: service.admission({ limiters }) });
    for (const operation of limited) {
      const answer = await sendExample(at, operation);
      expect(answer.status, operation.id).to.equal(503);
      confirm(operation, answer, 'overloaded');
    }
  });

  it('answers 503 without an admin key, and 404 without a SCIM token', async () => {
    const closed = await troubledService({ 'Service:Admin:ApiKey': '', ...NO_RECEIVER });
    const at = await closed.serve();
    for (const operation of served) {
      if (operation.scheme === 'adminKey') {
        const answer = await sendExample(at, operation);
        expect(answer.status, operation.id).to.equal(503);
        confirm(operation, answer, 'admin_api_disabled');
      }
      if (operation.scheme === 'scimToken') {
        const answer = await sendExample(at, operation);
        expect(answer.status, operation.id).to.equal(404);
        confirm(operation, answer, 'scim_not_found');
      }
    }
    await closed.stop();
  });

  it('answers 412 and 503 if other clients keep changing the object of a request', async () => {
    const { admin, scim } = service.surfaces;
    const change = async () => ({ kind: 'kept_changing' }) as const;
    const at = await service.serve({
      // Also for a request of an operator, whose surface `acting` makes.
      admin: { ...admin, acting: undefined, update: change },
      scim: scim && { ...scim, replace: change, patch: change, remove: async () => 'kept_changing' },
    });
    for (const [id, status, example] of [
      ['updateAgent', 503, 'agent_kept_changing'],
      ['replaceUser', 412, 'scim_kept_changing'],
      ['patchUser', 412, 'scim_kept_changing'],
      ['deleteUser', 412, 'scim_kept_changing'],
    ] as const) {
      const answer = await sendExample(at, operationOf(id));
      expect(answer.status, id).to.equal(status);
      confirm(operationOf(id), answer, example);
    }
  });

  it('answers stopEverything 503 if tasks are left when its time is up', async () => {
    const { admin } = service.surfaces;
    const stopEverything = async () => ({ kind: 'time_up', tasks: 740_000 }) as const;
    const at = await service.serve({ admin: { ...admin, acting: undefined, stopEverything } });
    const answer = await sendExample(at, operationOf('stopEverything'));
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1']);
    confirm(operationOf('stopEverything'), answer, 'tasks_left');
  });

  it('answers a proof 410 for an archived month and 500 for a broken seal', async () => {
    const { audit, me } = service.surfaces;
    for (const [kind, status, example] of [
      ['archived', 410, 'record_archived'],
      ['broken', 500, 'seal_broken'],
    ] as const) {
      const prove = async () => ({ kind, checkpoint: CHECKPOINT });
      const at = await service.serve({ audit: { ...audit, prove }, me: me && { ...me, api: { ...me.api, prove } } });
      for (const operation of [operationOf('proveRecord'), operationOf('proveMyRecord')]) {
        const answer = await sendExample(at, operation);
        expect(answer.status).to.equal(status);
        confirm(operation, answer, example);
      }
    }
  });

  it('answers a proof 500 for a log that does not have the checkpoint as it is', async () => {
    const { audit } = service.surfaces;
    const proof = { seq: 1, checkpoint: CHECKPOINT, leafIndex: 0, auditPath: [] };
    const at = await service.serve({
      audit: { ...audit, prove: async () => ({ kind: 'proof', proof }), proveInLog: async () => ({ kind: 'broken' }) },
    });
    const operation = operationOf('proveRecord');
    const answer = await sendExample(at, operation, { query: { log: 'true' } });
    expect(answer.status).to.equal(500);
    confirm(operation, answer, 'log_broken');
  });

  it('answers 403 for a change with a session from another page, and 404 for a pause while it is off', async () => {
    const { me } = service.surfaces;
    if (me === undefined) throw new Error('there is no /me');
    const person = {
      subject: 'ada',
      sponsorKey: 'ada' as SponsorKey,
      sessionId: undefined,
      authenticatedAt: NOON,
    };
    const sessions = { find: async () => ({ holder: { ...person, by: 'session' } as const, formToken: 'x' }) };
    const at = await service.serve({ me: { ...me, api: { ...me.api, sessions, canPause: false } } });
    for (const operation of served.filter(({ scheme, method }) => scheme === 'meToken' && method !== 'get')) {
      const init = { method: operation.method.toUpperCase(), headers: { cookie: 'a=b' } };
      const answer = await sendTo(`${at}${targetOf(operation, {})}`, init);
      expect(answer.status, operation.id).to.equal(403);
      confirm(operation, answer, 'invalid_form_token');
    }
    confirm(operationOf('pauseMyAgents'), await sendExample(at, operationOf('pauseMyAgents')), 'pause_disabled');
  });

  it('answers getMetrics 500 if the metrics cannot be rendered', async () => {
    const port = await freePort();
    const listener = await listenForScrapes({ host: '127.0.0.1', port }, () => Promise.reject(new Error('a bug')));
    confirm(METRICS, await sendExample(`http://127.0.0.1:${port}`, METRICS));
    expect((await sendTo(`http://127.0.0.1:${port}/other`, {})).status).to.equal(404);
    await listener.close();
  });

  for (const [status, example, bytes] of BROKEN_REQUESTS) {
    it(`answers ${status} ${example} on any path`, async () => {
      const { answers } = await sendBytes(await service.serve({}, SHORT), bytes);
      const answer = asAnswer(answers[0]);
      expect(answer.status, answer.text).to.equal(status);
      confirmResponse(onAnyPath(status), answer, example, 'any path');
    });
  }

  it('answers 404 on an unknown path', async () => {
    confirmResponse(onAnyPath(404), await sendTo(`${url}/no/such/path`, {}), 'unknown_path', 'any path');
  });
});

function exampleNames({ responses }: Operation, status: number): readonly string[] {
  const response = responses.get(status);
  return response === undefined ? [] : examplesOf(response).map(({ pointer }) => pointer.split('/').at(-1) ?? '');
}

/** The members of a running service that registering an agent needs. */
function clientOf(url: string, others: Pick<Mandate, 'provider' | 'clock'>): Parameters<typeof registerAgent>[0] {
  const authorization = `Bearer ${ADMIN_KEY}`;
  return {
    ...others,
    issuer: 'https://mandate.example',
    admin: (method, path, body) =>
      sendTo(`${url}${path}`, {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    post: (path, form) =>
      sendTo(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: encodeForm(form),
      }),
  };
}

function onAnyPath(status: number): Placed<Described> {
  const response = anyPathResponses.get(status);
  if (response === undefined) throw new Error(`no answer ${status} on any path`);
  return response;
}

function asAnswer(raw: RawAnswer | undefined): Answer {
  if (raw === undefined) throw new Error('no answer');
  const { status, body, headers } = raw;
  return { status, text: body, body: body === '' ? {} : JSON.parse(body), headers: new Headers([...headers]) };
}

describe('The tests of the API above', () => {
  it('have sent each example request', () => {
    const bodies = operations.flatMap(({ body }) => (body === undefined ? [] : examplesOf(body)));
    expect(bodies.map(({ pointer }) => pointer).filter((pointer) => !wasSent(pointer))).to.deep.equal([]);
  });

  it('have seen each status and each example answer in the document', () => {
    const statuses = operations.flatMap(({ id, responses }) =>
      [...responses.keys()].map((status) => `${id} ${status}`),
    );
    expect(statuses.filter((key) => !wasSeen(key))).to.deep.equal([]);
    const described = [...operations.flatMap(({ responses }) => [...responses.values()]), ...anyPathResponses.values()];
    const examples = new Set(described.flatMap(examplesOf).map(({ pointer }) => pointer));
    expect([...examples].filter((pointer) => !wasSeen(pointer))).to.deep.equal([]);
  });
});
