/**
 * A provider that deviates from the standards: the features that still work, and the doctor's findings. Each case tries
 * a sign-in at the page, one at the console, and an exchange with the sponsor check, and compares with the doctor's
 * findings.
 */

import { expect } from 'chai';
import { renderFindings } from '../../adapters/cli/findings-report.ts';
import { formTokenOf } from '../../adapters/http/browser/cookies.ts';
import { meCookies } from '../../adapters/http/me/cookies.ts';
import { operators, signedInOperator } from '../support/console/operators-browser.ts';
import { type Area, type OddWorldOptions, startOddWorld } from '../support/identity-provider/odd-world.ts';
import type { Oddities } from '../support/identity-provider/oddities.ts';
import { byLength } from '../support/length.ts';
import { answering } from '../support/loopback.ts';
import { personBrowser, postOwn } from '../support/me/person-browser.ts';

interface Case {
  readonly title: string;
  readonly odd: Oddities;
  readonly options?: OddWorldOptions;
  /** The features that fail. */
  readonly broken?: readonly Area[];
  /** Whether only a person's sign-in shows it, which the doctor cannot try. */
  readonly isUnseen?: boolean;
}

const SIGN_INS: readonly Area[] = ['page', 'console'];
const ALL: readonly Area[] = [...SIGN_INS, 'exchange'];

const SURVIVED = {
  kidTwice: true,
  nullMembers: true,
  ed25519: true,
  demandsUserAgent: true,
  connectionsBreak: true,
  contentEncoding: 'UTF-8',
  status203: true,
  scopeClaim: 'list',
  noSession: true,
  authTime: 0,
  expiresInText: true,
  ownErrors: true,
  blankSignOut: true,
  metadata: { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
} as const satisfies Oddities;

const toEndpoint = { 'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint' };
const secret = 'a-secret_of.the~client';

const notFound = answering('<h1>404 page not found</h1>', 404);
const emptyNotFound = answering('', 404);

/** All of these in one provider, in `npm test`. */
const TOGETHER: Case = { title: 'has many oddities at once', odd: SURVIVED };

const CASES: readonly Case[] = [
  { title: 'has none of them', odd: {} },
  TOGETHER,
  ...Object.entries(SURVIVED).map(([name, value]) => ({ title: `has ${name}`, odd: { [name]: value } })),
  { title: 'has manyKeysWithoutKid', odd: { manyKeysWithoutKid: true } },
  { title: 'has sameKid', odd: { sameKid: true } },
  { title: 'has an empty Content-Encoding', odd: { contentEncoding: '' } },
  { title: 'sends no auth_time', odd: { authTime: 'absent' } },
  { title: 'sends an auth_time in text', odd: { authTime: 'text' } },
  { title: 'sends an auth_time in the future', odd: { authTime: 'future' } },
  { title: 'puts no scope into tokens', odd: { scopeClaim: 'absent' }, broken: ['exchange'] },
  { title: 'demands a scope', odd: { demandsScope: true }, broken: ['exchange'] },
  {
    title: 'demands a scope, and gets it',
    odd: { demandsScope: true },
    options: { settings: { 'Service:UpstreamIdp:SponsorCheck:Scope': 'jira:read' } },
  },
  {
    title: 'accepts only its token endpoint as aud',
    odd: {},
    options: { acceptsOnlyTokenEndpoint: true },
    broken: ALL,
  },
  {
    title: 'accepts only its token endpoint as aud, and gets it',
    odd: { ownErrors: true },
    options: { acceptsOnlyTokenEndpoint: true, settings: toEndpoint },
  },
  { title: 'does not decode client_secret_basic', odd: { basicAsSent: true }, options: { secret } },
  { title: 'knows another secret', odd: {}, options: { secret, ownSecret: 'another-secret' }, broken: SIGN_INS },
  {
    title: 'knows another secret, and answers in its own words',
    odd: { ownErrors: true },
    options: { secret, ownSecret: 'another-secret' },
    broken: SIGN_INS,
  },
  { title: 'looks at the code first', odd: { codeFirst: true } },
  { title: 'looks at the code first, with a secret', odd: { codeFirst: true }, options: { secret } },
  {
    title: 'looks at the code first, and refuses us',
    odd: { codeFirst: true, refusesMandate: 'invalid_client' },
    broken: ALL,
  },
  { title: 'refuses us by invalid_client', odd: { refusesMandate: 'invalid_client' }, broken: ALL },
  { title: 'refuses us by 401', odd: { refusesMandate: 401 }, broken: ALL },
  { title: 'refuses us by 403', odd: { refusesMandate: 403 }, broken: ALL },
  ...[
    { response_types_supported: ['id_token'] },
    { code_challenge_methods_supported: ['plain'] },
    { token_endpoint_auth_signing_alg_values_supported: ['RS256'] },
    { token_endpoint_auth_methods_supported: undefined, code_challenge_methods_supported: undefined },
  ].map((metadata) => ({ title: `lists ${Object.entries(metadata).join(' and ')}`, odd: { metadata } })),
  {
    title: 'has no authorization_endpoint',
    odd: { metadata: { authorization_endpoint: undefined } },
    broken: SIGN_INS,
  },
  {
    title: 'names a template as issuer, where its metadata is',
    odd: { metadata: { issuer: 'https://idp.example/{tenantid}/v2.0' } },
    options: { hasMetadataUrl: true },
    broken: ALL,
  },
  {
    title: 'names another issuer of access tokens',
    odd: { metadata: { access_token_issuer: 'http://idp.example/adfs/services/trust' } },
    broken: ['exchange'],
  },
  {
    title: 'has another issuer of access tokens',
    odd: { accessTokenIssuer: 'http://idp.example/adfs/services/trust' },
  },
  { title: 'names a template as issuer', odd: { metadata: { issuer: 'http://idp.example/{tenantid}' } }, broken: ALL },
  { title: 'has a busy token endpoint', odd: { answers: { token: answering({}, 503) } }, broken: ALL },
  { title: 'has no token endpoint there', odd: { answers: { token: notFound } }, broken: ALL },
  {
    title: 'answers with a page at the token endpoint',
    odd: { answers: { token: answering('<h1>Hi</h1>') } },
    broken: ALL,
  },
  { title: 'has no keys', odd: { answers: { keys: answering({}, 503) } }, broken: ALL },
  { title: 'has a proxy before no users', odd: { answers: { users: notFound } }, broken: ['exchange'] },
  { title: 'has no users at any path', odd: { answers: { users: emptyNotFound } }, broken: ['exchange'] },
  { title: 'lets us read no user', odd: { answers: { users: answering({}, 403) } }, broken: ['exchange'] },
];

for (const { title, odd, options, broken = [], isUnseen = false } of byLength({ short: [TOGETHER], full: CASES })) {
  describe(`A provider that ${title}`, () => {
    it('is used where it can be, and the doctor says what works', async () => {
      const world = await startOddWorld(odd, options);
      try {
        for (const area of ALL) {
          const works = await world.works(area);
          expect(works, `${area}: ${world.mandate.log.lines.join('\n')}`).to.equal(!broken.includes(area));
          const findings = await world.findings(area);
          const report = `${area}\n${renderFindings(findings, false)}`;
          const failed = findings.filter(({ status }) => status === 'failed');
          const doubts = findings.filter(({ status }) => status === 'failed' || status === 'warning');
          if (works) expect(failed, report).to.deep.equal([]);
          else if (!isUnseen) expect(doubts, report).not.to.deep.equal([]);
          for (const { remedy } of doubts) expect(remedy, report).to.match(/\.$/);
        }
      } finally {
        await world.stop();
      }
    });
  });
}

it('A provider without an end_session_endpoint: page and console offer only Sign out, and a form for more ends the session here', async () => {
  const world = await startOddWorld({ metadata: { end_session_endpoint: undefined } });
  try {
    const person = personBrowser(world.mandate);
    await person.signIn();
    const operator = await signedInOperator(world, operators.viewer);
    const cookie = person.cookies();
    for (const page of [await world.mandate.get('/me', { accept: 'text/html', cookie }), await operator.get('/')]) {
      expect(page.status).to.equal(200);
      expect(page.text).to.include('Sign out</button>').and.not.include('Sign out everywhere');
    }
    const secret = meCookies.sessionSecret(cookie);
    const everywhere = { form_token: secret === undefined ? '' : formTokenOf(secret), everywhere: 'yes' };
    for (const answer of [
      await postOwn(world.mandate, '/me/sign-out', cookie, everywhere),
      await operator.post('/sign-out', { everywhere: 'yes' }),
    ]) {
      expect(answer.status).to.equal(200);
      expect(answer.text).to.include('You are signed out here').and.not.include('http-equiv');
    }
    expect((await world.mandate.get('/me/tasks', { cookie })).status).to.equal(401);
    expect((await operator.get('/')).headers.get('location')).to.equal('/sign-in');
  } finally {
    await world.stop();
  }
});
