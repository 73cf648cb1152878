import { expect } from 'chai';
import fc from 'fast-check';
import type { Screen } from '../../../adapters/http/console/context.ts';
import { consoleRouteOf } from '../../../adapters/http/console/routes.ts';
import { screens } from '../../../adapters/http/console/screens.ts';
import { routeTable } from '../../../adapters/http/routes.ts';
import { type Surface, surfaces } from '../../../application/ports/telemetry.ts';
import { feeds, fileForms, forms } from '../../support/console/rows.ts';
import { optionalRows } from '../../support/optional-paths.ts';

/** Of an instance without any optional path. */
const routeOf = routeTable();

const paths: readonly (readonly [path: string, surface: Surface])[] = [
  ['/oauth2/token', 'token'],
  ['/oauth2/token?x=1', 'token'],
  ['/oauth2/introspect', 'introspection'],
  ['/oauth2/revoke', 'revocation'],
  ['/oauth2/token/', 'other'],
  ['/oauth2', 'other'],
  ['/admin/agents/someone', 'admin'],
  ['/admin', 'admin'],
  ['/administrator', 'other'],
  ['/audit?limit=1', 'audit'],
  ['/audit/records/7/proof', 'audit'],
  ['/scim/v2/Users', 'scim'],
  ['/scim/v2//Users', 'scim'],
  ['/scim/v2//Users/user_1', 'scim'],
  ['/scim/v2/Users/?filter=userName%20eq%20%22a%22', 'scim'],
  ['/events', 'events'],
  ['/backchannel-logout', 'backchannel_logout'],
  ['/healthz', 'health'],
  ['/readyz?verbose', 'health'],
  ['/.well-known/jwks.json', 'keys'],
  ['/.well-known/openid-configuration', 'keys'],
  ['/agents/someone/jwks.json', 'keys'],
  ['/HEALTHZ', 'other'],
  ['/', 'other'],
  ['', 'other'],
  ['*', 'other'],
  ['http://elsewhere/oauth2/token', 'other'],
];

describe('The metric label of a request', () => {
  for (const [path, surface] of paths) {
    it(`is ${surface} for "${path}"`, () => expect(routeOf(path).metric).to.equal(surface));
  }
  it('is one of a fixed set for every path', () =>
    fc.assert(fc.property(fc.string(), (url: string) => surfaces.includes(routeOf(url).metric))));
});

/** Surface, event, bucket, work, metric, and whether a POST carries a form. */
type Treatment = readonly [
  surface: string,
  event: string,
  bucket: string,
  work: string,
  metric: Surface,
  form: boolean,
];
const forToolServers: Treatment = ['public', 'token.denied', 'introspection', 'introspection', 'status_lists', false];
const ofTheLog: Treatment = ['public', 'token.denied', 'main', 'other', 'log', false];
const ofPeople = (work: string): Treatment => ['me', 'me.denied', 'main', work, 'me', work !== 'sign_in'];
const optional: Readonly<Record<keyof typeof optionalRows, readonly (readonly [path: string, Treatment])[]>> = {
  statusLists: ['/status', '/status/q80B-f_nWEZ5HLXzGk6-zA', '/status/x/y?z'].map((path) => [path, forToolServers]),
  approvals: [['/oauth2/approval?x', ['oauth', 'token.denied', 'introspection', 'introspection', 'approval', true]]],
  log: ['/log/checkpoint', '/log/tile/0/000', '/log'].map((path) => [path, ofTheLog]),
  me: [
    ['/me', ofPeople('revoking')],
    ['/me/tasks?limit=1', ofPeople('revoking')],
    ['/me/tasks/task_1', ofPeople('revoking')],
    ['/me/pause', ofPeople('revoking')],
    ['/me/sign-out', ofPeople('other')],
    ['/me/signed-out?state=x', ofPeople('other')],
    ['/me/sign-in?to=me', ofPeople('sign_in')],
    ['/me/callback?code=x', ofPeople('sign_in')],
    ['/me/records?limit=1', ofPeople('other')],
    ['/me/records/7/proof', ofPeople('proof')],
  ],
  registration: [['/oauth2/register?x', ['oauth', 'authorization.denied', 'main', 'other', 'other', false]]],
};

describe('A path that a setting switches on', () => {
  for (const [name, row] of Object.entries(optionalRows)) {
    const switched = routeTable([row]);
    for (const [path, treatment] of optional[name as keyof typeof optionalRows]) {
      it(`${path} is treated by its row, and is an unknown path without it (${name})`, () => {
        const { surface, event, bucket, work, metric, takesForm } = switched(path);
        expect([surface, event, bucket, work, metric, takesForm]).to.deep.equal(treatment);
        expect(routeOf(path)).to.equal(routeOf(path.startsWith('/oauth2') ? '/oauth2/nothing' : '/nothing'));
      });
    }
    it(`changes no other path (${name})`, () => {
      const others = ['/statuses/x', '/logs/x', '/means', '/oauth2/approval/', '/oauth2', '/'];
      for (const other of others) expect(switched(other), other).to.equal(routeOf(other));
    });
  }
});

describe('The path of a page of the console', () => {
  for (const [path, work, takesForm] of [
    ['/', 'revoking', true],
    ['/people?sponsor=ada', 'revoking', true],
    ['/stop?sponsor=ada', 'revoking', true],
    ['/stop/person', 'revoking', true],
    ['/people/block', 'revoking', true],
    ['/agent/disable', 'revoking', true],
    // A slow identity provider, and sign-ins of people, must hold up nothing of operators.
    ['/sign-in', 'console_sign_in', false],
    ['/callback?code=x', 'console_sign_in', false],
    ['/sign-out', 'other', true],
    ['/signed-out?state=x', 'other', true],
    ['/delegation?state=live', 'other', true],
    ['/tasks/task_1', 'other', true],
    ['/agents/someone', 'other', true],
    ['/agent/compare', 'other', true],
    ['/ledger', 'other', true],
    ['/ledger/chain?after=0', 'other', true],
    ['/stream', 'other', true],
    ['/now', 'other', true],
    ['/doctor', 'other', true],
    // A proof computes on the only thread.
    ['/tasks/task_1/records/7', 'proof', true],
    ['/ledger/proofs?seqs=1,2', 'proof', true],
  ] as const) {
    it(`${path} has the permits of ${work}${takesForm ? ', and its form is read before it waits for one' : ''}`, () => {
      const { surface, event, bucket, metric, ...route } = consoleRouteOf(path);
      expect([surface, event, bucket, metric]).to.deep.equal(['console', 'admin.denied', 'main', 'console']);
      expect([route.work, route.takesForm]).to.deep.equal([work, takesForm]);
    });
  }
});

describe('The rows of the console', () => {
  /** What an operator needs to stop agents. No other row may take those permits. */
  const stopping = ['now', 'people', 'stop'];
  const tables = { screens, feeds, forms, fileForms };

  for (const [table, rows] of Object.entries(tables)) {
    for (const [name, { path, work }] of Object.entries<Pick<Screen, 'path' | 'work'>>(rows)) {
      it(`${name} (${path}) has the permits that its row names, in ${table}`, () => {
        const isStopping = table === 'forms' || (table === 'screens' && stopping.includes(name));
        expect(work === 'revoking', work).to.equal(isStopping);
        const target = path.replaceAll(/:\w+/g, 'a%2Fb.c');
        for (const asked of [target, `${target}?x=/y`]) expect(consoleRouteOf(asked).work, asked).to.equal(work);
      });
    }
  }

  it('hold no path up with those permits that no screen has', () => {
    for (const path of ['/unknown', '/stop/', '/stop/task/x', '/agents/a/b', '/assets/mark.svg']) {
      expect(consoleRouteOf(path).work, path).to.equal('other');
    }
  });
});

describe('A SCIM path', () => {
  for (const path of ['//Users', '/Users/', '//Users/', '//Users/user_1', '/Users/?filter=userName%20eq%20%22a%22']) {
    it(`/scim/v2${path} has the route of /scim/v2/Users in spite of its extra slash`, () => {
      expect(routeOf(`/scim/v2${path}`)).to.equal(routeOf('/scim/v2/Users'));
      const { surface, event, bucket, work } = routeOf(`/scim/v2${path}`);
      expect([surface, event, bucket, work]).to.deep.equal(['scim', 'scim.denied', 'scim', 'revoking']);
    });
  }
});
