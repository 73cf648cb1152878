/**
 * Walks every operation of the OpenAPI document, and compares its refusals with the document and the ledger: no
 * credential, a wrong one, no role, no reason, another method, an unknown id, an unknown parameter or member. So no other
 * test repeats them for its own paths.
 */

import { expect } from 'chai';
import { EVERY_CLIENT } from '../../support/authorize/settings.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { thirdByLength } from '../../support/length.ts';
import { type Answer, fieldsOf, type Mandate, startMandate } from '../../support/mandate.ts';
import {
  anyPathResponse,
  below,
  type Described,
  exampleNames,
  type Operation,
  type Placed,
  problemsOf,
  served,
} from '../../support/openapi/api-document.ts';
import { confirm, confirmResponse, settled } from '../../support/openapi/confirm.ts';
import {
  type Changes,
  ME_AUDIENCE,
  presentMeToken,
  sendAsIs,
  sendExample,
  targetOf,
} from '../../support/openapi/send-example.ts';
import { operatorToken, ROLE_VALUES, STOP_EVERYTHING, TWO_PERSONS } from '../../support/operators.ts';
import { SOME_APPROVALS } from '../../support/tool-server/approval-request.ts';
import { EVERY_RECEIVER } from '../../support/transmitter.ts';
import { logKeySettings } from '../../support/transparency-log.ts';

const SETTINGS = {
  ...EVERY_RECEIVER,
  ...TWO_PERSONS,
  ...STOP_EVERYTHING,
  ...logKeySettings(),
  'Service:Me:Audience': ME_AUDIENCE,
  'Service:Delegation:Enabled': 'true',
  'Service:StatusLists:Enabled': 'true',
  ...SOME_APPROVALS,
  ...EVERY_CLIENT,
  // Each refusal has its own record.
  'Service:Audit:Aggregation:Enabled': 'false',
};

/** By security scheme: the example of the answer to a wrong credential, the record, its reasons without one and with a wrong one. */
const CREDENTIALS: Readonly<Record<string, Readonly<Record<'example' | 'event' | 'missing' | 'wrong', string>>>> = {
  adminKey: { example: 'not_an_operator', event: 'admin.denied', missing: 'missing_api_key', wrong: 'invalid_api_key' },
  scimToken: { example: 'invalid_api_key', event: 'scim.denied', missing: 'missing_api_key', wrong: 'invalid_api_key' },
  pushToken: { example: 'invalid_api_key', event: 'ssf.denied', missing: 'missing_api_key', wrong: 'invalid_api_key' },
  meToken: { example: 'invalid_token', event: 'me.denied', missing: 'missing_token', wrong: 'invalid_token' },
};

/** The records of a refused method. Other paths have none. */
const METHOD_DENIALS: Readonly<Record<string, readonly [event: string, reason: string]>> = {
  '/oauth2/token': ['token.denied', 'invalid_request'],
  '/oauth2/introspect': ['token.denied', 'invalid_request'],
  '/oauth2/approval': ['token.denied', 'invalid_request'],
  '/oauth2/revoke': ['token.denied', 'invalid_request'],
  '/oauth2/register': ['authorization.denied', 'invalid_request'],
  '/backchannel-logout': ['signal.denied', 'logout_malformed'],
  '/events': ['signal.denied', 'ssf_malformed'],
};
/** The examples of the answer to a refused method. */
const METHOD_EXAMPLES: Readonly<Record<string, string>> = {
  '/healthz': 'problem',
  '/oauth2/token': 'oauth',
  '/events': 'event',
  '/scim/v2/Users': 'scim',
};
const METHODS = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SOURCE', 'M-SEARCH'];

/** Segments of paths that are no id of anything. The URL parser of `fetch` would decode some. */
const UNKNOWN_IDS = [
  ...['nobody', 'Upper', '..%2Faudit', '..%2Fagents', '__proto__', '%00', '%F0%9F%98%80'],
  ...['x'.repeat(129), 'x'.repeat(2000), 'task_01M31S7W68TMK7WDX8YKPSYTES', 'task_01m31s7w68tmk7wdx8ykpsytes'],
  ...['01', '-1', '1.0', '1e0', '+1', '%201', '9007199254740992', '1'.repeat(40), '%31%00'],
];
/** These are keys of people. The service refuses what is no such key with 400. */
const UNKNOWN_PEOPLE = UNKNOWN_IDS.filter((id) => /^\w{1,129}$/.test(id));
const MALFORMED_IDS = ['%', '%zz', '%FF', '%c3%28', '%ed%a0%80'];

export function describeRefusals(database: TestDatabase): void {
  describe(`The API on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database, settings: SETTINGS });
      presentMeToken(mandate.provider);
      // Record 1 has a seal, so a `seq` that was read as 1 would have a proof.
      await mandate.agent();
      await mandate.jobs.seal();
    });
    after(() => mandate.stop());

    const recorded = async (act: () => Promise<unknown>) => fieldsOf(await mandate.recorded(act), 'event', 'reason');
    const everyRole = () => ({
      authorization: `Bearer ${operatorToken(mandate, { roles: Object.values(ROLE_VALUES) })}`,
    });
    /** The records of a change with the admin key that changes nothing. */
    const attempts = ({ scheme, method }: Operation, count: number) =>
      scheme === 'adminKey' && method !== 'get' ? Array(count).fill(['operator.acted', null]) : [];

    for (const [nth, operation] of served.entries()) {
      const { id, scheme, path } = operation;
      const send = (changes: Changes) => sendExample(mandate.url, operation, changes);
      const credential = CREDENTIALS[scheme ?? ''];

      if (credential !== undefined) {
        const { example, event, missing, wrong } = credential;
        it(`answers ${id} 401 without a credential, and with a wrong one`, async () => {
          const records = await recorded(async () => {
            for (const authorization of ['', 'Bearer wrong', 'Basic d3Jvbmc=']) {
              const answer = await send({ headers: { authorization } });
              expect(answer.status).to.equal(401);
              confirm(operation, answer, example);
            }
            // Also for a method that the path does not answer.
            for (const method of [operation.method.toUpperCase(), 'OPTIONS']) {
              const answer = await sendAsIs(mandate.url, operation, method, targetOf(operation, {}), {});
              expect([answer.status, answer.headers.get('allow')]).to.deep.equal([401, null]);
              confirm(operation, answer, scheme === 'meToken' ? 'missing_token' : example);
            }
          });
          const reasons = [wrong, wrong, wrong, missing, missing];
          expect(records).to.deep.equal(reasons.map((reason) => [event, reason]));
        });
      }

      if (scheme === 'adminKey') {
        it(`answers ${id} 403 to a person without a role, and 400 to a change without a reason`, async () => {
          const records = await recorded(async () => {
            const headers = { authorization: `Bearer ${operatorToken(mandate, { roles: [] })}` };
            const refused = await send({ headers });
            expect(refused.status).to.equal(403);
            const isExample = /the role responder/.test(String(refused.body.detail));
            confirm(operation, refused, isExample ? 'operator_role_missing' : undefined);
            if (operation.method === 'get') return;
            const unexplained = await send({ headers: everyRole() });
            expect(unexplained.status).to.equal(400);
            confirm(operation, unexplained, 'reason_required');
          });
          expect(records).to.deep.equal([['admin.denied', 'operator_role_missing']]);
        });
      }

      if (path.includes('{')) {
        it(`answers ${id} 400 for a path that is not UTF-8`, async () => {
          const records = await recorded(async () => {
            for (const wrong of thirdByLength(MALFORMED_IDS, nth)) {
              const answer = await sendTo(operation, path.replaceAll(/\{\w+\}/g, wrong));
              expect(answer.status).to.equal(400);
              expect(answer.body.detail).to.equal('The path is not well-formed.');
              confirm(
                operation,
                answer,
                exampleNames(operation, 400).find((name) => name === 'malformed_path'),
              );
            }
          });
          expect(records).to.deep.equal([]);
        });
      }

      if (path.includes('{') && operation.responses.has(404)) {
        const unknownIds = thirdByLength(path.includes('{sponsor_key}') ? UNKNOWN_PEOPLE : UNKNOWN_IDS, nth);
        it(`answers ${id} 404 for an unknown id, and changes nothing`, async () => {
          const records = await recorded(async () => {
            for (const unknown of unknownIds) {
              const answer = await sendTo(operation, path.replaceAll(/\{\w+\}/g, unknown));
              expect(answer.status, unknown).to.equal(404);
              confirm(operation, answer);
            }
          });
          expect(records).to.deep.equal(attempts(operation, unknownIds.length));
        });
      }
    }

    for (const operation of served) {
      const { id, body } = operation;
      // RFC 7644 §3.4.2 leaves it to the service. The stream has the parameter `Last-Event-ID`. The end of everything has none,
      // and would end too much if it ignored one.
      const isNamed =
        id === 'stopEverything' ||
        (operation.scheme !== 'scimToken' &&
          (!operation.path.includes('{') || id === 'getTaskTree') &&
          operation.parameters.some(({ value }) => value.in === 'query' || value.name === 'Last-Event-ID'));
      const isClosed =
        body !== undefined && problemsOf(schemaOf(body), { unknown: 'x' })?.includes('additional') === true;
      /** The request with this addition, after the same without it twice: the first may have changed something. */
      const compared = async (changes: Changes) => {
        await sendExample(mandate.url, operation);
        const without = await sendExample(mandate.url, operation);
        const answer = await sendExample(mandate.url, operation, changes);
        expect([answer.status, settled(answer.body)]).to.deep.equal([without.status, settled(without.body)]);
      };

      it(
        isNamed ? `refuses unknown parameters of ${id}, and names each` : `ignores unknown parameters of ${id}`,
        async () => {
          if (!isNamed) return compared({ query: { unknown: 'sent-text' } });
          const records = await recorded(async () => {
            for (const [query, field] of [
              ['unknown=sent-text', 'unknown'],
              ['__proto__=1', '__proto__'],
              ['constructor=1', 'constructor'],
              ['Limit=1', 'Limit'],
              ['limit[]=1', 'limit[]'],
            ] as const) {
              const answer = await sendTo(operation, `${operation.path.replaceAll(/[{}]/g, '')}?${query}`);
              expect([answer.status, Object.keys(answer.body.errors ?? {})], query).to.deep.equal([400, [field]]);
              expect(answer.text).not.to.include('sent-text');
              confirm(operation, answer);
            }
          });
          expect(records).to.deep.equal(attempts(operation, 5));
        },
      );

      if (body === undefined || id === 'receiveEvent') continue;
      it(
        isClosed ? `refuses unknown members of ${id}, and names each` : `ignores unknown members of ${id}`,
        async () => {
          const changes = { body: { unknown_member: 'sent-text' } };
          if (!isClosed) return compared(changes);
          const records = await recorded(async () => {
            const answer = await sendExample(mandate.url, operation, changes);
            expect([answer.status, Object.keys(answer.body.errors ?? {})]).to.deep.equal([400, ['unknown_member']]);
            expect(answer.text).not.to.include('sent-text');
            confirm(operation, answer);
          });
          expect(records).to.deep.equal(attempts(operation, 1));
        },
      );
    }

    for (const [nth, path] of [...new Set(served.map((operation) => operation.path))].entries()) {
      const listed = served.filter((operation) => operation.path === path);
      const names = listed.map(({ method }) => method.toUpperCase());
      const allowed = names.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
      const refused = thirdByLength(
        METHODS.filter((method) => !allowed.includes(method)),
        nth,
      );
      it(`answers other methods than ${allowed.join(', ')} at ${path} with 405, and names these`, async () => {
        const [operation] = listed;
        if (operation === undefined) throw new Error(`no operation at ${path}`);
        const records = await recorded(async () => {
          for (const method of refused) {
            const answer = await sendAsIs(mandate.url, operation, method, targetOf(operation, {}));
            expect(answer.status, method).to.equal(405);
            expect(answer.headers.get('allow'), method).to.equal(allowed.join(', '));
            expect(answer.headers.get('cache-control'), method).to.equal('no-store');
            // The answer to TRACE must not contain the request.
            expect(answer.text, method).not.to.include('mandate.test');
            if (method !== 'HEAD') confirmResponse(anyPathResponse(405), answer, METHOD_EXAMPLES[path], method);
          }
        });
        const denial = METHOD_DENIALS[path];
        expect(records).to.deep.equal(denial === undefined ? [] : refused.map(() => denial));
      });
    }

    function sendTo(operation: Operation, path: string): Promise<Answer> {
      return sendAsIs(mandate.url, operation, operation.method.toUpperCase(), path);
    }
  });
}

/** The pointer to the schema of a JSON body or form. */
function schemaOf({ value, pointer }: Placed<Described>): string {
  const [type = ''] = Object.keys(value.content ?? {});
  return below(pointer, 'content', type, 'schema');
}
