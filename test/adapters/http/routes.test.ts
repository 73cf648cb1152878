import { expect } from 'chai';
import fc from 'fast-check';
import type { Row } from '../../../adapters/http/console/context.ts';
import { consoleRouteOf } from '../../../adapters/http/console/routes.ts';
import { feeds, fileForms, forms, screens } from '../../../adapters/http/console/screens.ts';
import { routeOf } from '../../../adapters/http/routes.ts';
import { type Surface, surfaces } from '../../../application/ports/telemetry.ts';

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

describe('The path of a status list', () => {
  for (const path of ['/status', '/status/q80B-f_nWEZ5HLXzGk6-zA', '/status/x/y?z']) {
    it(`${path} has its own metrics, the bucket and the permits of introspection, and is unknown without status lists`, () => {
      const { bucket, work, metric } = routeOf(path, { statusLists: true });
      expect([bucket, work, metric]).to.deep.equal(['introspection', 'introspection', 'status_lists']);
      expect(routeOf(path)).to.equal(routeOf('/nothing'));
    });
  }
  it('is its first segment', () => expect(routeOf('/statuses/x', { statusLists: true })).to.equal(routeOf('/nothing')));
});

describe('The path of approvals', () => {
  it('has its own metrics, the bucket and the permits of introspection, and is unknown without approvals', () => {
    const { surface, event, bucket, work, metric, takesForm } = routeOf('/oauth2/approval?x', { approvals: true });
    expect([surface, event, bucket, work, metric, takesForm]).to.deep.equal([
      ...['oauth', 'token.denied', 'introspection', 'introspection', 'approval', true],
    ]);
    expect(routeOf('/oauth2/approval')).to.equal(routeOf('/oauth2/nothing'));
  });
});

describe('The path of the transparency log', () => {
  for (const path of ['/log/checkpoint', '/log/tile/0/000', '/log']) {
    it(`${path} has its own metrics, and is unknown without the log`, () => {
      const { surface, bucket, work, metric } = routeOf(path, { log: true });
      expect([surface, bucket, work, metric]).to.deep.equal(['public', 'main', 'other', 'log']);
      expect(routeOf(path)).to.equal(routeOf('/nothing'));
    });
  }
  it('is its first segment', () => expect(routeOf('/logs/x', { log: true })).to.equal(routeOf('/nothing')));
});

describe('The path of a person’s own surface', () => {
  for (const [path, work] of [
    ['/me', 'revoking'],
    ['/me/tasks?limit=1', 'revoking'],
    ['/me/tasks/task_1', 'revoking'],
    ['/me/pause', 'revoking'],
    ['/me/sign-out', 'other'],
    ['/me/signed-out?state=x', 'other'],
    ['/me/sign-in?to=me', 'sign_in'],
    ['/me/callback?code=x', 'sign_in'],
    ['/me/records?limit=1', 'other'],
    ['/me/records/7/proof', 'proof'],
  ] as const) {
    it(`${path} has the permits of ${work} and the main bucket, and is unknown without Service:Me`, () => {
      const { surface, event, bucket, work: actual, metric } = routeOf(path, { me: true });
      expect([surface, event, bucket, actual, metric]).to.deep.equal(['me', 'me.denied', 'main', work, 'me']);
      expect(routeOf(path)).to.equal(routeOf('/nothing'));
    });
  }
  it('is its first segment', () => expect(routeOf('/means', { me: true })).to.equal(routeOf('/nothing')));
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
    for (const [name, { path, work }] of Object.entries<Row>(rows)) {
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
