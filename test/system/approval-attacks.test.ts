/** Attacks on approvals: forged and ambiguous requests, tokens of others, replays, answers that are not the person's, and floods. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { grace } from '../support/identity-provider/people.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, WIKI } from '../support/mandate.ts';
import { type PageWithProvider, personBrowser, startWithPage } from '../support/me/person-browser.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';
import { forgedRequests, otherSignature } from '../support/tool-server/forged-requests.ts';

const ME = 'https://mandate.test/me';
const encoded = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

for (const database of databasesByLength) {
  describe(`Attacks on approvals on ${database.name}`, function () {
    this.timeout(60_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let other: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let wiki: AskingServer;
    before(async () => {
      const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
      [jira, wiki] = await Promise.all([askingServer(JIRA, clock), askingServer(WIKI, clock)]);
      running = await startWithPage(database, {
        ...sharedSigningKey(),
        'Service:Me:Audience': ME,
        ...approvalSettings(jira, wiki),
        // Each refusal is a record. The other instance counts them.
        'Service:Audit:Aggregation:Enabled': 'false',
      });
      mandate = running.mandate;
      mandate.clock.standStill();
      other = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'true' }, running.provider, {
        clock: mandate.clock,
        databaseClock: mandate.clock,
      });
      agent = await mandate.agent();
    });
    after(async () => {
      await other.stop();
      await running.stop();
    });

    async function started(sub = `ada-${randomUUID()}`, resource = JIRA) {
      const answer = await agent.exchangeFor({ sub }, { resource });
      expect(answer.status, answer.text).to.equal(200);
      const { access_token: token, task_id: taskId, refresh_token: grant } = answer.body;
      return { token: String(token), taskId: String(taskId), grant: String(grant), sub };
    }
    const claimsOf = (taskId: string) => ({
      iss: JIRA,
      aud: mandate.issuer,
      iat: mandate.clock.seconds(),
      exp: mandate.clock.seconds() + 60,
      jti: randomUUID(),
      task_id: taskId,
      digest: digestOf('delete 7'),
      title: 'Delete the issue',
      lines: [{ label: 'Issue', value: 'PAY-7' }],
    });
    const HEADER = () => ({ alg: 'ES256', typ: 'approval-request+jwt', kid: jira.key.kid });

    it('find no form of a request that is accepted but the one form', async () => {
      const { token, taskId } = await started();
      const claims = claimsOf(taskId);
      const good = jira.key.sign(HEADER(), claims);
      const requests = await forgedRequests({ claims, key: jira.key, other: wiki.key });
      for (const [reason, forms] of Object.entries(requests)) {
        const lines = await mandate.recorded(async () => {
          for (const [what, request] of Object.entries(forms)) {
            const answer = await asks(mandate, token, request);
            expect([answer.status, answer.body], what).to.deep.equal([
              400,
              { error: 'invalid_request', error_description: 'The approval request is not acceptable.' },
            ]);
          }
        });
        const record = ['token.denied', 'deny', reason, reason === 'approval_request_expired' ? taskId : null];
        expect(fieldsOf(lines, 'event', 'decision', 'reason', 'task_id')).to.deep.equal(
          Object.keys(forms).map(() => record),
        );
      }
      expect(await stored(taskId)).to.equal(0);
      // Another signature of the same request, which the key's owner need not make: the jti is used.
      expect((await asks(mandate, token, good)).body.state).to.equal('pending');
      expect((await asks(mandate, token, otherSignature(good))).status).to.equal(400);
      expect(await stored(taskId)).to.equal(1);
    });
    const stored = async (taskId: string) =>
      Number((await mandate.sql(`select count(*) as n from approvals where task_id = '${taskId}'`))[0]?.n);

    it('use no request twice: not for another task, at another instance, or in another of its forms', async () => {
      const [one, two] = [await started(), await started()];
      const ofWiki = await started(undefined, WIKI);
      const claims = { ...claimsOf(one.taskId), jti: 'é' };
      const request = jira.key.sign(HEADER(), claims);
      expect((await asks(mandate, one.token, request)).body.state).to.equal('pending');
      for (const at of [mandate, other]) expect((await asks(at, one.token, request)).status).to.equal(400);
      // The same jti with other claims, for another task.
      const again = jira.key.sign(HEADER(), { ...claims, task_id: two.taskId });
      for (const at of [other, mandate]) expect((await asks(at, two.token, again)).status).to.equal(400);
      // Other texts are other jtis, and each resource has its own.
      const composed = jira.key.sign(HEADER(), { ...claims, jti: 'e\u0301' });
      expect((await asks(other, one.token, composed)).body.state).to.equal('pending');
      const elsewhere = wiki.request(ofWiki.taskId, { jti: 'é' });
      expect((await asks(other, ofWiki.token, elsewhere)).body.state).to.equal('pending');
      // Twenty at once, at both instances.
      const raced = jira.request(one.taskId);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, nth) => asks(nth % 2 ? mandate : other, one.token, raced)),
      );
      expect(answers.filter(({ status }) => status === 200)).to.have.lengthOf(1);
    });

    it('ask with no token but one of the task itself', async () => {
      const [one, two] = [await started(), await started()];
      const request = () => jira.request(one.taskId);
      const inactive = { state: 'inactive' };
      const [head = '', body = ''] = one.token.split('.');
      const strangers = {
        'the grant': one.grant,
        "the agent's assertion": agent.assertion(),
        "the person's token": agent.subjectToken({ sub: one.sub }),
        'the request itself': request(),
        'the token without its signature': `${head}.${body}.`,
        'the token with alg none': `${encoded({ alg: 'none', typ: 'at+jwt' })}.${body}.x`,
        'the token with a space': ` ${one.token}`,
      };
      for (const [what, token] of Object.entries(strangers)) {
        expect((await asks(mandate, token, request())).body, what).to.deep.equal(inactive);
      }
      expect((await asks(mandate, two.token, request())).status, 'of another task').to.equal(400);
      const renewed = (await agent.refresh(one.grant)).body;
      expect((await asks(mandate, renewed.access_token, request())).body.state).to.equal('pending');
      expect(await stored(one.taskId)).to.equal(1);
      // Its own approval, asked for by the server of another audience.
      expect((await asks(mandate, one.token, wiki.request(one.taskId))).status).to.equal(400);
    });

    it('answer no question without a form of the page or a token for it alone', async () => {
      const { token, taskId } = await started('ada');
      const { approval_id: id } = (await asks(mandate, token, jira.request(taskId))).body;
      const { commitment } = await mandate.approval(String(id));
      const path = `/me/approvals/${id}`;
      const person = personBrowser(mandate);
      const auth = mandate.clock.seconds();
      await person.signIn();
      const cookie = person.cookies();
      const page = (await mandate.get(path, { cookie, accept: 'text/html' })).text;
      const formToken = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? expect.fail(page);
      const fields = { form_token: formToken, decision: 'approve', commitment };
      const form = (changes: object = {}) => new URLSearchParams({ ...fields, ...changes }).toString();
      const json = JSON.stringify({ decision: 'approve', commitment });
      const browser = { cookie, accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
      const own = { ...browser, origin: mandate.issuer };
      const api = { 'content-type': 'application/json' };
      const bearer = (claims: object) => ({
        ...api,
        authorization: `Bearer ${agent.subjectToken({ sub: 'ada', aud: ME, auth_time: auth, ...claims })}`,
      });
      const attempts: Readonly<Record<string, readonly [string, string, Record<string, string>, string?]>> = {
        'by GET': ['GET', `${path}?decision=approve&commitment=${commitment}`, { cookie, accept: 'text/html' }],
        'by GET of the form': ['GET', `${path}/answer?${form()}`, { cookie, accept: 'text/html' }],
        'by HEAD': ['HEAD', path, { cookie }],
        'by PUT': ['PUT', path, bearer({}), json],
        'by POST of the form to the address': ['POST', path, own, form()],
        'from another site': ['POST', `${path}/answer`, { ...browser, origin: 'https://evil.example' }, form()],
        'from a frame': ['POST', `${path}/answer`, { ...browser, origin: 'null' }, form()],
        'from a sibling': ['POST', `${path}/answer`, { ...own, 'sec-fetch-site': 'same-site' }, form()],
        'without an origin': ['POST', `${path}/answer`, browser, form()],
        'without the form token': ['POST', `${path}/answer`, own, form({ form_token: '' })],
        'with a wrong form token': ['POST', `${path}/answer`, own, form({ form_token: 'x'.repeat(43) })],
        'with two decisions': ['POST', `${path}/answer`, own, `${form()}&decision=refuse`],
        'with a method in a header': ['POST', `${path}/answer`, { ...own, 'x-http-method-override': 'GET' }, 'a=b'],
        'by a program with the cookie': ['POST', path, { ...api, cookie, origin: mandate.issuer }, json],
        'by a simple request of a script': ['POST', path, { cookie, 'content-type': 'text/plain' }, json],
        'with the task token': ['POST', path, { ...api, authorization: `Bearer ${token}` }, json],
        'with the token that the agent has': ['POST', path, bearer({ aud: running.provider.audience }), json],
        'with a token for two': ['POST', path, bearer({ aud: [ME, running.provider.audience] }), json],
        'with a token of an agent': ['POST', path, bearer({ act: { sub: 'agent:x' } }), json],
        'with a token in the address': [
          'POST',
          `${path}?access_token=${agent.subjectToken({ sub: 'ada', aud: ME, auth_time: auth })}`,
          api,
          json,
        ],
        'as another person': ['POST', path, bearer({ sub: 'eve' }), json],
        'from tomorrow': ['POST', path, bearer({ auth_time: auth + 86_400 }), json],
        'from 1970': ['POST', path, bearer({ auth_time: 0 }), json],
        'from a text': ['POST', path, bearer({ auth_time: `${auth}` }), json],
        'from no sign-in': ['POST', path, bearer({}), json.replace('"approve"', '"approve","auth_time":1')],
        'with the decision twice': ['POST', path, bearer({}), json.replace('{', '{"decision":"refuse",')],
      };
      const lines = await mandate.recorded(async () => {
        for (const [what, [method, address, headers, body]] of Object.entries(attempts)) {
          await mandate.send(address, { method, headers, redirect: 'manual', ...(body && { body }) });
          expect((await mandate.approval(String(id))).state, what).to.equal('pending');
        }
      });
      const denied = fieldsOf(lines, 'event', 'decision', 'reason').map(String);
      expect(new Set(denied)).to.deep.equal(
        new Set(
          ['invalid_form_token', 'missing_token', 'invalid_token', 'token_audience_mismatch', 'approver_not_fresh'].map(
            (reason) => `me.denied,deny,${reason}`,
          ),
        ),
      );
      const said = await mandate.send(`${path}/answer`, {
        method: 'POST',
        headers: own,
        body: form(),
        redirect: 'manual',
      });
      expect(said.status).to.equal(303);
      expect((await mandate.approval(String(id))).state).to.equal('granted');
    });

    it("get no yes from a sign-in of another person, begun for this one's question", async () => {
      const { token, taskId } = await started('ada');
      const { approval_id: id } = (await asks(mandate, token, jira.request(taskId))).body;
      const { commitment } = await mandate.approval(String(id));
      const first = personBrowser(mandate);
      await first.signIn();
      const own = first.cookies();
      // Near the limit of five minutes. The provider has the real clock, so a later time would make the second sign-in old too.
      mandate.clock.advance(240);
      const second = personBrowser(mandate, grace);
      const address = await second.returnAddress(`/me/sign-in?to=fresh-${id}`);
      const lines = await mandate.recorded(async () => {
        // Without the cookie of the browser that began it, and then in the browser of both.
        const alone = await mandate.get(`${address.pathname}${address.search}`, { cookie: own });
        expect(alone.headers.get('location')).to.equal('/me');
        const back = await second.finish(address, `${second.cookies()}; ${own}`);
        expect(back.headers.get('location')).to.equal(`/me/approvals/${id}`);
        const cookie = second.cookies();
        const page = await mandate.get(`/me/approvals/${id}`, { cookie, accept: 'text/html' });
        expect(page.status).to.equal(404);
        const home = (await mandate.get('/me', { cookie, accept: 'text/html' })).text;
        const formToken = /name="form_token" value="([^"]+)"/.exec(home)?.[1] ?? expect.fail(home);
        const body = new URLSearchParams({ form_token: formToken, decision: 'approve', commitment });
        const headers = { cookie, accept: 'text/html', origin: mandate.issuer };
        const said = await mandate.send(`/me/approvals/${id}/answer`, { method: 'POST', headers, body });
        expect(said.status).to.equal(404);
      });
      expect(lines.filter(({ event }) => String(event).startsWith('approval.'))).to.deep.equal([]);
      expect((await mandate.approval(String(id))).state).to.equal('pending');
    });
  });
}
