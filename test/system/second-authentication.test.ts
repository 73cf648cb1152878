/** Two ways of authentication in one request (RFC 6749 §2.3). */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { type AskingServer, approvalSettings, askingServer } from '../support/tool-server/approval-request.ts';

type Sent = Readonly<{ form?: Readonly<Record<string, string>>; headers?: Readonly<Record<string, string>> }>;

const basic = (of: string): Sent => ({ headers: { authorization: `Basic ${btoa(`${of}:secret`)}` } });

for (const database of databasesByLength) {
  describe(`A request that authenticates in two ways on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let other: RegisteredAgent;
    let jira: AskingServer;
    const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
    before(async () => {
      jira = await askingServer(JIRA, clock);
      mandate = await startMandate({
        database,
        settings: {
          'Service:Me:ClientId': 'the-page',
          'Service:Exchange:ClientIsActor': 'true',
          'Service:Audit:Aggregation:Enabled': 'false',
          ...approvalSettings(jira),
        },
      });
      [agent, other] = [await mandate.agent(), await mandate.agent()];
    });
    after(() => mandate.stop());

    const requests: Readonly<Record<string, (grant: string, token: string, taskId: string) => [string, object]>> = {
      'an exchange': () => ['/oauth2/token', agent.exchangeForm()],
      'an exchange of a client that is the actor': () => {
        const { actor_token: client_assertion = '', actor_token_type: _, ...form } = agent.exchangeForm();
        const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
        return ['/oauth2/token', { ...form, client_assertion, client_assertion_type }];
      },
      'a refresh': (grant) => ['/oauth2/token', agent.refreshForm(grant)],
      'a revocation of a token': (_, token) => ['/oauth2/revoke', agent.revokeForm(token)],
      'a request for an approval': (_, token, taskId) => ['/oauth2/approval', { token, request: jira.request(taskId) }],
    };
    for (const [what, make] of Object.entries(requests)) {
      it(`is refused as malformed and recorded, and does nothing: ${what}`, async () => {
        const { refresh_token: grant, access_token: token, task_id: taskId } = (await agent.exchange()).body;
        const [path, form] = make(String(grant), String(token), String(taskId));
        const send = ({ form: more, headers }: Sent): Promise<Answer> =>
          mandate.post(path, { ...form, ...more }, headers);
        const second: readonly Sent[] = [
          { form: { client_secret: 'not-echoed' } },
          { form: { client_secret: ' ' } },
          basic(agent.id),
          basic(other.id),
          { headers: { authorization: 'Basic' } },
          { headers: { authorization: 'Bearer not-echoed' } },
          { form: { client_secret: 'not-echoed' }, ...basic(other.id) },
        ];
        const lines = await mandate.recorded(async () => {
          for (const sent of second) {
            const { status, body, text } = await send(sent);
            expect([status, body.error], JSON.stringify(sent)).to.deep.equal([400, 'invalid_request']);
            expect(body.error_description).to.match(/^A request authenticates in one way: send [a-z_]+ without an? /);
            expect(text).not.to.include('not-echoed');
          }
        });
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id')).to.deep.equal(
          second.map(() => ['token.denied', 'invalid_request', null]),
        );
        expect(await mandate.introspect(String(token))).to.include({ active: true });
        // An empty secret is an omitted one. The assertion was not used up.
        expect((await send({ form: { client_secret: '' } })).status).to.equal(200);
      });
    }

    it('is not one with a credential alone, which authenticates no client', async () => {
      const { client_assertion: _1, client_assertion_type: _2, ...refresh } = agent.refreshForm('task_grant_x');
      const answer = await mandate.post('/oauth2/token', refresh, basic(agent.id).headers);
      expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_client']);
      expect(answer.headers.get('www-authenticate')).to.match(/^Basic /);
      const token = String((await agent.exchange()).body.access_token);
      const introspected = await mandate.post('/oauth2/introspect', { token }, basic('tool-server').headers);
      expect(introspected.body.active, 'introspection asks for no credential').to.equal(true);
    });
  });
}
