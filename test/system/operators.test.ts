/** Operators with names (`Service:Operators`): which routes each may call, and the records of their acts. */

import { expect } from 'chai';
import { adminRoutes } from '../../adapters/http/admin/roles.ts';
import { type OperatorRole, operatorRoles } from '../../domain/operators/operator.ts';
import { databases, databasesByLength } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import { ADMIN_KEY, startMandate } from '../support/mandate.ts';
import { operations } from '../support/openapi/api-document.ts';
import { OPERATORS, operatorToken, ROLE_VALUES, TWO_PERSONS } from '../support/operators.ts';
import { testActs } from './operators/acts.ts';
import { type Claims, detailOf, isAct, operator, sendAs, serviceWithOperators, WHY } from './operators/service.ts';
import { testTokens } from './operators/tokens.ts';
import { testTwoPersons } from './operators/two-persons.ts';

const guarded = operations.filter(({ scheme }) => scheme === 'adminKey');

const routeOf = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`;

/** The role that each route needs, as docs/operators.md says. A viewer's route is open to every role. */
const NEEDED: Readonly<Record<OperatorRole, readonly string[]>> = {
  viewer: [
    ...['GET /admin/agents', 'GET /admin/agents/{agent_id}', 'GET /admin/tasks', 'GET /admin/tasks/{task_id}'],
    ...['GET /admin/sponsors', 'GET /admin/sponsors/{sponsor_key}', 'GET /admin/tasks/{task_id}/tree'],
  ],
  auditor: [
    ...['GET /audit', 'GET /audit/stream', 'GET /audit/checkpoints', 'GET /audit/records/{seq}/proof'],
    ...['GET /log/checkpoint', 'GET /log/keys', 'GET /log/tile/{level}/{index}', 'GET /admin/acts'],
  ],
  registrar: ['POST /admin/agents', 'PATCH /admin/agents/{agent_id}', 'DELETE /admin/agents/{agent_id}'],
  responder: [
    ...['DELETE /admin/tasks', 'DELETE /admin/tasks/{task_id}', 'DELETE /admin/agents/{agent_id}/tasks'],
    ...['DELETE /admin/sponsors/{sponsor_key}/tasks', 'PUT /admin/sponsors/{sponsor_key}/block'],
    'DELETE /admin/sponsors/{sponsor_key}/block',
  ],
};

const rolesOfRoutes = Object.fromEntries(
  operatorRoles.flatMap((role) => NEEDED[role].map((route) => [route, role] as const)),
);

describe('The table of routes and roles', () => {
  it('has each operation of the API document that takes the admin key', () => {
    expect(Object.keys(rolesOfRoutes)).to.have.members(guarded.map(routeOf));
  });

  it('is that of the service, and of the API document', () => {
    expect(adminRoutes).to.deep.equal(rolesOfRoutes);
    const documented = guarded.map((operation) => [routeOf(operation), operation.roles]);
    expect(Object.fromEntries(documented)).to.deep.equal(
      Object.fromEntries(Object.entries(rolesOfRoutes).map(([route, role]) => [route, [role]])),
    );
  });
});

for (const database of databases) {
  describe(`Operators with names on ${database.name}`, function () {
    this.timeout(60_000);
    const service = serviceWithOperators(database);

    // Roles are read from the token, before the database is asked.
    const routes = databasesByLength.includes(database) ? Object.entries(rolesOfRoutes) : [];
    for (const [route, needed] of routes) {
      it(`open ${route} to the key, and to a person only with the role ${needed}, and record each refusal`, async () => {
        const { mandate } = service;
        const filled = route.replace('{seq}', '1').replaceAll(/\{\w+\}/g, 'nobody');
        expect((await sendAs(mandate, ADMIN_KEY, filled)).status).not.to.be.oneOf([401, 403]);
        for (const role of [undefined, ...operatorRoles]) {
          const send = operator(mandate, `as-${role}`, ...(role === undefined ? [] : [role]));
          const isAllowed = role === needed || (needed === 'viewer' && role !== undefined);
          const records = await mandate.recorded(async () => {
            const { status } = await send(filled, route.startsWith('GET') ? { reason: undefined } : {});
            if (isAllowed) expect(status, `${role}`).not.to.be.oneOf([401, 403]);
            else expect(status, `${role}`).to.equal(403);
          });
          if (isAllowed) continue;
          expect(
            records.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor]),
          ).to.deep.equal([['admin.denied', 'deny', 'operator_role_missing', null]]);
          const [record] = records;
          const detail = { iss: mandate.provider.issuer, sub: `as-${role}`, act: route };
          expect(record && detailOf(record)).to.deep.equal(detail);
        }
      });
    }

    it('have the rights of all their roles, and act by the role that allows the route', async () => {
      const { mandate } = service;
      const send = operator(mandate, 'olga', 'auditor', 'responder');
      expect((await send('GET /audit', { reason: undefined })).status).to.equal(200);
      const [act] = (await mandate.recorded(() => send('DELETE /admin/sponsors/nobody/tasks'))).filter(isAct);
      expect(act && detailOf(act).role).to.equal('responder');
    });

    testActs(service);
    if (databasesByLength.includes(database)) testTokens(service);
    testTwoPersons(service);
  });
}

for (const database of databasesByLength) {
  describe(`Operators of a separate identity provider on ${database.name}`, function () {
    this.timeout(60_000);

    it('are admitted only by tokens of that provider, with roles in a member of a claim', async () => {
      const own = await startIdentityProvider();
      const mandate = await startMandate({
        database,
        settings: {
          ...OPERATORS,
          'Service:Operators:Issuer': own.issuer,
          'Service:Operators:RoleClaim': 'realm_access.roles',
        },
      });
      const claims = { realm_access: { roles: [ROLE_VALUES.viewer] }, roles: [ROLE_VALUES.auditor] };
      const { clock } = mandate;
      const statusOf = async (provider: typeof own, path: string, more: Claims = {}) =>
        (await sendAs(mandate, operatorToken({ provider, clock }, { ...claims, ...more }), `GET ${path}`)).status;
      expect(await statusOf(own, '/admin/agents')).to.equal(200);
      expect(await statusOf(own, '/audit')).to.equal(403);
      expect(await statusOf(own, '/admin/agents', { 'realm_access.roles': 'other' })).to.equal(403);
      expect(await statusOf(mandate.provider, '/admin/agents')).to.equal(401);
      await mandate.stop();
      await own.stop();
    });

    it('lift no block with a token whose SponsorKeyClaim is absent or unusable', async () => {
      const settings = { ...OPERATORS, 'Service:UpstreamIdp:SponsorKeyClaim': 'email' };
      const mandate = await startMandate({ database, settings });
      const block = '/admin/sponsors/olga@people.example/block';
      await mandate.admin('PUT', block);
      const lift = (email: unknown) => {
        const token = operatorToken(mandate, { email, roles: ROLE_VALUES.responder });
        return sendAs(mandate, token, `DELETE ${block}`, { reason: WHY });
      };
      const unusable = [undefined, '', 'two words', 'x'.repeat(257), ['oscar@people.example'], 'olga@people.example'];
      const records = await mandate.recorded(async () => {
        for (const email of unusable) expect((await lift(email)).status, String(email)).to.equal(403);
      });
      expect(records.map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal(
        unusable.flatMap(() => [
          ['sponsor.unblocked', 'deny', 'operator_is_sponsor'],
          ['operator.acted', 'allow', null],
        ]),
      );
      expect((await lift('oscar@people.example')).status).to.equal(204);
      await mandate.stop();
    });

    it('are one person if blocks name them alike, whatever their sub: two lifts by them are one', async () => {
      const settings = { ...TWO_PERSONS, 'Service:UpstreamIdp:SponsorKeyClaim': 'email' };
      const mandate = await startMandate({ database, settings });
      const block = '/admin/sponsors/mallory@people.example/block';
      await mandate.admin('PUT', block);
      const lift = async (sub: string, email: string) => {
        const token = operatorToken(mandate, { sub, email, roles: ROLE_VALUES.responder });
        return (await sendAs(mandate, token, `DELETE ${block}`, { reason: WHY })).status;
      };
      const records = await mandate.recorded(async () => {
        expect(await lift('olga-at-the-api', 'olga@people.example')).to.equal(202);
        expect(await lift('olga-in-the-console', 'olga@people.example')).to.equal(202);
      });
      expect(records.map(({ event }) => event)).to.deep.equal(['operator.acted', 'operator.acted']);
      expect(await lift('oscar-at-the-api', 'oscar@people.example')).to.equal(204);
      await mandate.stop();
    });

    it('get 503 while the keys of their provider cannot be fetched, and the admin key still works', async () => {
      const own = await startIdentityProvider();
      await own.goDown();
      const settings = { ...OPERATORS, 'Service:Operators:Issuer': own.issuer };
      const mandate = await startMandate({ database, settings });
      const token = operatorToken({ provider: own, clock: mandate.clock }, { roles: ROLE_VALUES.viewer });
      const records = await mandate.recorded(async () => {
        const answer = await sendAs(mandate, token, 'GET /admin/agents');
        expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
        expect(answer.headers.get('retry-after')).to.equal('1');
      });
      expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([
        ['admin.denied', 'subject_keys_unavailable'],
      ]);
      expect((await mandate.admin('GET', '/admin/agents')).status).to.equal(200);
      await mandate.stop();
    });
  });

  describe(`A service whose only way in is the admin key, on ${database.name}`, function () {
    this.timeout(60_000);

    it('has no acts, no path for them, and takes no token', async () => {
      const mandate = await startMandate({ database });
      const records = await mandate.recorded(async () => {
        expect((await mandate.admin('PUT', '/admin/sponsors/mallory/block')).status).to.equal(200);
        expect((await mandate.admin('DELETE', '/admin/sponsors/mallory/block')).status).to.equal(204);
        expect((await mandate.admin('GET', '/admin/acts')).status).to.equal(404);
        const token = operatorToken(mandate, { roles: Object.values(ROLE_VALUES) });
        expect((await sendAs(mandate, token, 'GET /admin/agents')).status).to.equal(401);
      });
      expect(records.map(({ event, detail }) => [event, detail])).to.deep.equal([
        ['sponsor.blocked', undefined],
        ['sponsor.unblocked', undefined],
        ['admin.denied', undefined],
      ]);
      await mandate.stop();
    });
  });

  describe(`Operators without an admin key on ${database.name}`, function () {
    this.timeout(60_000);

    it('are admitted by their tokens alone, and their acts reach the sink', async () => {
      const sink = await startLoopback(answering({}));
      const settings = { ...OPERATORS, 'Service:Admin:ApiKey': '', 'Service:Audit:Sink:Url': sink.url };
      const mandate = await startMandate({ database, settings });
      await mandate.untilReady();
      expect(
        (await mandate.send('/admin/agents', { headers: { authorization: `Bearer ${ADMIN_KEY}` } })).status,
      ).to.equal(401);
      expect((await operator(mandate, 'olga', 'responder')('PUT /admin/sponsors/mallory/block')).status).to.equal(200);
      await mandate.jobs.drain();
      const sent = sink.received.flatMap(({ body }) => body.match(/"event":"[\w.]+"/g) ?? []);
      expect(sent).to.include('"event":"operator.acted"');
      await mandate.stop();
      await sink.close();
    });
  });
}
