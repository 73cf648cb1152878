/** Who opens an address of `/oauth2/authorize` again, or with another program than a browser, and an issuer with a path. */

import { expect } from 'chai';
import { openHandle } from '../../../adapters/storage/sqlite/handle.ts';
import {
  authorizationRequest,
  doorPerson,
  linkBack,
  publicAgent,
  STATE,
  startDoor,
  titleOf,
  toldClient,
} from '../../support/authorize/door.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import { type Answer, fieldsOf, type Mandate } from '../../support/mandate.ts';
import type { PageWithProvider } from '../../support/me/person-browser.ts';

for (const database of databasesByLength) {
  describe(`An address of /oauth2/authorize on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agentId: string;
    before(async () => {
      running = await startDoor(database, { 'Service:Audit:Aggregation:Enabled': 'false' });
      mandate = running.mandate;
      agentId = await publicAgent(mandate);
    });
    after(() => running.stop());

    const asked = () => authorizationRequest(agentId);
    const recordsOf = async (act: () => Promise<Answer>) => {
      const done: Answer[] = [];
      const lines = await mandate.recorded(async () => {
        done.push(await act());
      });
      const [answer] = done;
      if (answer === undefined) throw new Error('there was no answer');
      return { answer, records: fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor') };
    };
    const denied = (reason: string) => [['authorization.denied', 'deny', reason, null, null]];
    const isPage = (answer: Answer) => expect(answer.headers.get('location'), titleOf(answer)).to.contain('/areq_');

    it('spends no code of the provider for HEAD, and answers a return address once', async () => {
      const person = doorPerson(mandate);
      const { pathname, search } = await person.signIn(asked());
      const path = `${pathname}${search}`;
      const headers = { cookie: person.cookies() };
      const { answer: head, records } = await recordsOf(() => mandate.send(path, { method: 'HEAD', headers }));
      expect([head.status, head.headers.getSetCookie(), records]).to.deep.equal([200, [], []]);
      isPage(await person.open(path));
      const reloaded = await recordsOf(() => person.open(path));
      expect([reloaded.answer.status, titleOf(reloaded.answer)]).to.deep.equal([400, 'This question is over']);
      expect(reloaded.records).to.deep.equal(denied('request_expired'));
    });

    it('has one answer for two tabs and for a reload: no second code, and no second record', async () => {
      const person = doorPerson(mandate);
      const question = await person.question(asked());
      // The page of a second tab is the same form.
      expect((await person.open(question.path)).text).to.contain(`action="${question.path}"`);
      const first = await question.answer('allow');
      expect(toldClient(first)).to.have.property('code');
      for (const kind of ['allow', 'refuse'] as const) {
        const { answer, records } = await recordsOf(() => question.answer(kind));
        expect([answer.status, titleOf(answer), answer.headers.get('location')]).to.deep.equal([
          400,
          'You have already allowed this',
          null,
        ]);
        expect(records).to.deep.equal([]);
      }
    });

    it('tells a program that takes JSON what a browser is shown, so that it forgets a client_id which is gone', async () => {
      for (const [changes, error, reason] of [
        [{ client_id: 'nobody' }, 'invalid_client', 'client_unknown'],
        [{ redirect_uri: 'https://evil.example/' }, 'invalid_request', 'redirect_uri_not_registered'],
      ] as const) {
        const path = `/oauth2/authorize?${authorizationRequest(agentId, changes)}`;
        const { answer, records } = await recordsOf(() => mandate.get(path, { accept: 'application/json' }));
        expect([answer.status, answer.body.error, Object.keys(answer.body)]).to.deep.equal([
          400,
          error,
          ['error', 'error_description'],
        ]);
        expect(answer.headers.get('content-type')).to.match(/^application\/json/);
        expect(answer.headers.get('location')).to.equal(null);
        expect(records).to.deep.equal(denied(reason));
        for (const accept of ['text/html,application/xhtml+xml,*/*;q=0.8', '*/*']) {
          const page = await mandate.get(path, { accept });
          expect([page.status, page.headers.get('content-type')]).to.deep.equal([400, 'text/html; charset=utf-8']);
        }
      }
    });
  });

  describe(`/oauth2/authorize for a program that gets no answer on ${database.name}`, function () {
    this.timeout(120_000);

    it('tells a program that takes JSON what is wrong with the document', async () => {
      const { mandate, stop } = await startDoor(database);
      try {
        for (const [uri, status, error, sentence] of [
          [await mandate.keyServer.serve({}), 400, 'invalid_client', "The client's metadata document cannot be used."],
          [
            await mandate.keyServer.unusedUri(),
            503,
            'temporarily_unavailable',
            "The client's metadata document could not be fetched. Retry the request.",
          ],
        ] as const) {
          await publicAgent(mandate, { client_id_document: uri });
          const path = `/oauth2/authorize?${authorizationRequest(uri)}`;
          const answer = await mandate.get(path, { accept: 'application/json' });
          expect([answer.status, answer.body]).to.deep.equal([status, { error, error_description: sentence }]);
        }
      } finally {
        await stop();
      }
    });

    /** From now on the registration can be read, and no request can be stored. Returns what ends that. */
    async function takeNoRequests({ settings, outside }: FreshDatabase): Promise<() => Promise<void>> {
      if (database.engine === 'sqlite') {
        // Another process holds the file.
        const other = openHandle(settings['Service:Database:Path'] ?? '', { timeout: 0 });
        other.exec('begin immediate');
        return async () => other.close();
      }
      const owner = await outside?.('owner');
      if (owner === undefined) throw new Error('there is no connection of the owner');
      await owner.sql('revoke insert on authorizations from mandate_app');
      return () => owner.close();
    }

    it('ends the way of a person whose database takes no requests with a link back to the client', async () => {
      const fresh = await database.fresh();
      const { mandate, stop } = await startDoor({ ...database, fresh: async () => fresh });
      let end = async () => {};
      try {
        const person = doorPerson(mandate);
        const { pathname, search } = await person.signIn(authorizationRequest(await publicAgent(mandate)));
        end = await takeNoRequests(fresh);
        const page = await person.open(`${pathname}${search}`);
        expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5']);
        const back = linkBack(page);
        expect(`${back?.origin}${back?.pathname}`).to.equal('https://client.example/cb');
        expect(Object.fromEntries(back?.searchParams ?? [])).to.deep.equal({
          kept: '1',
          error: 'temporarily_unavailable',
          error_description: 'The service could not reach its database. Start again.',
          state: STATE,
          iss: mandate.issuer,
        });
        expect(mandate.log.lines.some((line) => line.includes('the database could not answer'))).to.equal(true);
      } finally {
        await end();
        await stop();
      }
    });
  });

  describe(`/oauth2/authorize below an issuer with a path on ${database.name}`, function () {
    this.timeout(60_000);

    it('leads from the request to the code by addresses below that path', async () => {
      const { mandate, stop } = await startDoor(database, {}, { issuerPath: '/tenant' });
      try {
        const agentId = await publicAgent(mandate);
        const question = await doorPerson(mandate).question(authorizationRequest(agentId));
        expect(question.path).to.match(/^\/tenant\/oauth2\/authorize\/areq_/);
        expect(question.page.text).to.contain(`action="${question.path}"`).and.contain('href="/tenant/me"');
        expect(toldClient(await question.answer('allow')))
          .to.include({ state: STATE, iss: mandate.issuer })
          .and.have.property('code');
      } finally {
        await stop();
      }
    });
  });
}
