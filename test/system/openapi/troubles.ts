/** Compares the answers of the service while its storage fails, or a limit is reached, with the OpenAPI document. */

import { expect } from 'chai';
import { workLimiters } from '../../../adapters/http/admission/concurrency.ts';
import { works } from '../../../adapters/http/routes.ts';
import type { ServerLimits } from '../../../adapters/http/server/server.ts';
import { listenForScrapes } from '../../../adapters/telemetry/scrape-listener.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { clientAt } from '../../support/client-at.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { JIRA, type RegisteredAgent, registerAgent, sendTo } from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import {
  anyPathResponse,
  exampleNames,
  METRICS,
  type Operation,
  operationOf,
  served,
} from '../../support/openapi/api-document.ts';
import { confirm, confirmResponse } from '../../support/openapi/confirm.ts';
import { asAnswer, type Changes, presentMeToken, sendExample, targetOf } from '../../support/openapi/send-example.ts';
import { type TroubledService, troubledService } from '../../support/openapi/troubled-service.ts';
import { type AskingServer, askingServer, jwksOf, SOME_APPROVALS } from '../../support/tool-server/approval-request.ts';
import { startTransmitter, type Transmitter } from '../../support/transmitter.ts';
import { SESSION_REVOKED } from './scenarios/of-signals.ts';
import { NO_RECEIVER } from './world.ts';

/** The operations with rate and concurrency limits; health checks have none. */
const limited = served.filter(({ path }) => path !== '/healthz' && path !== '/readyz');

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

const SHORT: Partial<ServerLimits> = { headMs: 200, requestMs: 400, idleMs: 2000, checkMs: 25 };
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

export function describeTroubles(): void {
  describe('The API while storage fails or limits are reached', () => {
    let service: TroubledService;
    let provider: IdentityProvider;
    let transmitter: Transmitter;
    let url: string;
    let agent: RegisteredAgent;
    let token: string;
    let taskId: unknown;
    let asking: AskingServer;
    before(async () => {
      transmitter = await startTransmitter();
      provider = await startIdentityProvider();
      asking = await askingServer(JIRA, {
        issuer: () => 'https://mandate.example',
        now: () => service.clock.seconds(),
      });
      service = await troubledService({
        'Service:UpstreamIdp:Issuer': provider.issuer,
        ...transmitter.settings,
        ...SOME_APPROVALS,
        'Service:Approvals:Resources:0:Audience': JIRA,
        'Service:Approvals:Resources:0:JwksUri': '',
        'Service:Approvals:Resources:0:Jwks': jwksOf(asking),
      });
      url = await service.serve();
      presentMeToken(provider);
      agent = await registerAgent(
        { ...clientAt(url), issuer: 'https://mandate.example', provider, clock: service.clock },
        {},
      );
      const issued = await agent.exchange();
      token = String(issued.body.access_token);
      taskId = issued.body.task_id;
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
      if (id === 'askApproval') return { body: { token, request: asking.request(taskId) } };
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
        audit: {
          ...audit,
          prove: async () => ({ kind: 'proof', proof }),
          proveInLog: async () => ({ kind: 'broken' }),
        },
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
      // An earlier pause could still be lifted.
      confirm(operationOf('resumeMyAgents'), await sendExample(at, operationOf('resumeMyAgents')), 'not_blocked');
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
        confirmResponse(anyPathResponse(status), answer, example, 'any path');
      });
    }

    it('answers 404 on an unknown path', async () => {
      confirmResponse(anyPathResponse(404), await sendTo(`${url}/no/such/path`, {}), 'unknown_path', 'any path');
    });
  });
}
