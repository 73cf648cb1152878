/** Whether a client can prove its name: the page, the record, the person's tasks and the operators are told the same. */

import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { makeAgentKey } from '../../support/agents/agent-key.ts';
import { keptRequest, REDIRECT } from '../../support/authorize/allowed-request.ts';
import { sendAnswer, toldClient } from '../../support/authorize/door.ts';
import { databasesByLength } from '../../support/databases.ts';
import { type Form, fieldsOf, type Mandate, type RegisteredAgent, withService } from '../../support/mandate.ts';
import { OPERATORS } from '../../support/operators.ts';
import { keyAgent, keyOf, publicAgent, startDoor, token } from './clients.ts';

const ME = 'https://mandate.test/me';

for (const database of databasesByLength) {
  describe(`The name of a client on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    before(async () => {
      mandate = await startDoor(database, { settings: { ...OPERATORS, 'Service:Me:Audience': ME } });
    });
    after(() => mandate.stop());

    /** Publishes a document that later calls change. */
    async function published(members: object) {
      const document = {};
      const uri = await mandate.keyServer.serve(document);
      const change = (to: object) => Object.assign(document, { client_id: uri, redirect_uris: [REDIRECT], ...to });
      change(members);
      return { uri, change };
    }

    /** Reads the page, allows, and redeems the code. @param meanwhile what happens between the request and its page */
    async function allow(at: Mandate, agent: RegisteredAgent, form: Form = {}, meanwhile = async () => {}) {
      const secret = randomBytes(32).toString('base64url');
      const browserHash = createHash('sha256').update(secret).digest('hex');
      const { authorization, verifier } = await keptRequest(at, agent.id, { browserHash });
      await meanwhile();
      const cookies = `__Host-mandate-authorize-abcdefgh=1.${secret}`;
      const path = `/oauth2/authorize/${authorization.requestId}`;
      const page = await at.get(path, { cookie: cookies, accept: 'text/html' });
      expect(page.status, page.text).to.equal(200);
      let code: string | undefined;
      const lines = await at.recorded(async () => {
        code = toldClient(await sendAnswer(at, { path, page, cookies }, 'allow')).code;
      });
      const grant_type = 'authorization_code';
      const redeemed = await token(at, { grant_type, code, code_verifier: verifier, client_id: agent.id, ...form });
      expect(redeemed.status, redeemed.text).to.equal(200);
      const id = String(redeemed.body.task_id);
      const person = { authorization: `Bearer ${agent.subjectToken({ sub: 'ada', aud: ME })}` };
      const mine = (await at.get('/me/tasks', person)).body.tasks as Record<string, unknown>[];
      const shown = [mine.find(({ task_id }) => task_id === id), (await at.admin('GET', `/admin/tasks/${id}`)).body];
      return {
        isWarned: page.text.includes('This program cannot prove its name.'),
        records: fieldsOf(lines, 'event', 'detail'),
        recordedAs: (label: string) => [
          ['authorization.allowed', `request=${authorization.requestId}&client=${label}`],
        ],
        shown: shown.map((task) => task?.authorization) as Record<string, unknown>[],
      };
    }

    async function expectLabel(label: 'key' | 'public' | 'document', given: Parameters<typeof allow>) {
      const { isWarned, records, recordedAs, shown } = await allow(...given);
      expect(isWarned).to.equal(label === 'public');
      expect(records).to.deep.equal(recordedAs(label));
      for (const each of shown) expect(each).to.include({ client: label, proves_name: label !== 'public' });
    }

    it('is unproven everywhere if its client_id alone redeems a code, also of a client that has a key and uses it', async () => {
      const both = await keyAgent(mandate, { public_client: true });
      await expectLabel('public', [mandate, await publicAgent(mandate)]);
      await expectLabel('public', [mandate, both]);
      await expectLabel('public', [mandate, both, keyOf(both)]);
      const { uri } = await published({ token_endpoint_auth_method: 'none' });
      await expectLabel('public', [mandate, await keyAgent(mandate, { client_id_document: uri }), { client_id: uri }]);
    });

    it('is proven everywhere by a key, and so for every client where none may come without', async () => {
      const robot = await keyAgent(mandate);
      await expectLabel('key', [mandate, robot, keyOf(robot)]);
      const key = await makeAgentKey();
      const { uri } = await published({ token_endpoint_auth_method: 'private_key_jwt', jwks: key.jwks });
      const described = await keyAgent(mandate, { public_client: true, client_id_document: uri });
      const now = mandate.clock.seconds();
      const client_assertion = key.signAssertion(uri, { aud: mandate.issuer, iat: now, exp: now + 60 });
      await expectLabel('document', [mandate, described, { ...keyOf(described), client_assertion }]);
      await withService(mandate.another({ 'Service:Authorize:PublicClients': 'false' }), async (strict) => {
        const both = await keyAgent(mandate, { public_client: true });
        await expectLabel('key', [strict, both, keyOf(both)]);
      });
    });

    it('is that of the page, if the registration changed after the request', async () => {
      const robot = await keyAgent(mandate);
      const change = async () => {
        await mandate.admin('PATCH', `/admin/agents/${robot.id}`, { public_client: true });
      };
      await expectLabel('public', [mandate, robot, {}, change]);
    });
  });
}
