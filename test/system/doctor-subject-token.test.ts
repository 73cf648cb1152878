/** `mandate doctor --subject-token -` says why the service would accept or refuse a token, and never prints the token. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { NamedFinding } from '../../application/doctor/examine.ts';
import { explainToken } from '../../composition/commands/doctor.ts';
import { doctorSettings } from '../../composition/doctor/settings.ts';
import { parseSponsorKey } from '../../domain/identifiers.ts';
import { plusSeconds, toSeconds } from '../../domain/instant.ts';
import { runCommand } from '../support/command-process.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import { environmentOf } from '../support/mandate.ts';
import { movedClock } from '../support/moved-clock.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { startUserDirectory, type UserDirectory } from '../support/user-directory.ts';

const CLAIMS = [
  ...['person', 'form', 'signature', 'iss', 'exp', 'iat, nbf', 'aud', 'sub', 'act'],
  ...['cnf', 'sponsor key', 'sid', 'scopes'],
];
const CHECKS = [...CLAIMS.map((claim) => `token ${claim}`), 'verdict'];
const active = answering({ enabled: true });

for (const kind of databasesByLength) {
  describe(`mandate doctor --subject-token on ${kind.name}`, () => {
    let provider: IdentityProvider;
    let directory: UserDirectory;
    let database: FreshDatabase;
    let settings: Readonly<Record<string, string>>;
    before(async () => {
      provider = await startIdentityProvider({ algorithm: 'ES256' });
      database = await kind.fresh();
      directory = await startUserDirectory(active);
      settings = {
        ...database.settings,
        ...sharedSigningKey(),
        'Service:UpstreamIdp:Issuer': provider.issuer,
        'Service:UpstreamIdp:Audience': provider.audience,
        'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
        ...directory.settings,
      };
    });
    beforeEach(() => {
      directory.answer = active;
    });
    after(async () => {
      await provider.stop();
      await directory.server.close();
      await database.drop();
    });

    const good = { sub: 'ada-the-person', oid: 'object-of-ada', sid: 'session-of-ada' };
    const mint = (claims: object = {}, header: object = {}) =>
      provider.mintAccessToken({ ...good, ...claims }, { ...header });

    async function explain(
      token: string,
      { person: isPersonAsked = false, clock = movedClock(), changes = {} as Readonly<Record<string, string>> } = {},
    ) {
      const read = doctorSettings({ environment: environmentOf({ ...settings, ...changes }), overrides: [] });
      const findings = await explainToken(read, clock, { stdin: Readable.from([`${token}\n`]), person: isPersonAsked });
      const text = JSON.stringify(findings);
      for (const part of token.split('.')) expect(text).not.to.include(part.slice(0, 40));
      for (const part of Object.values(good)) expect(text, 'no claim that names the person').not.to.include(part);
      return findings;
    }

    const failedOf = (findings: readonly NamedFinding[]) =>
      findings.filter(({ status }) => status === 'failed').map(({ check }) => check);
    const sentenceOf = (findings: readonly NamedFinding[], check: string) =>
      findings.find((finding) => finding.check === check)?.sentence;

    it('reports ok for every claim of an acceptable token', async () => {
      const findings = await explain(mint({ scope: 'jira:read wiki:read' }));
      expect(findings.map(({ check }) => check)).to.deep.equal(CHECKS);
      expect(findings.map(({ status }) => status)).to.deep.equal(CHECKS.map(() => 'ok'));
      expect(sentenceOf(findings, 'token exp')).to.match(/^It expires in (59 minutes \d+ seconds?|1 hour)\.$/);
      expect(sentenceOf(findings, 'token scopes')).to.equal('The person holds "jira:read", "wiki:read".');
      expect(sentenceOf(findings, 'verdict')).to.equal('The token would be accepted as a subject token.');
    });

    it('reports every fault, and the denial reason that the service would record', async () => {
      const wrong = {
        iss: 'https://other.example',
        aud: 'account',
        exp: 1,
        sub: 'agent:triage',
        oid: undefined,
        act: {},
      };
      const findings = await explain(mint({ ...wrong, sid: undefined, scope: undefined }));
      const faults = ['iss', 'exp', 'aud', 'sub', 'act', 'sponsor key'].map((claim) => `token ${claim}`);
      expect(failedOf(findings)).to.deep.equal([...faults, 'token scopes', 'verdict']);
      expect(sentenceOf(findings, 'verdict')).to.include('reason subject_untrusted_issuer:');
      expect(sentenceOf(findings, 'token aud')).to.equal(`aud is "account"; expected is "${provider.audience}".`);
    });

    it('compares iss with the issuer of access tokens, if the metadata names another than of ID tokens', async () => {
      const trust = 'http://adfs.example/adfs/services/trust';
      const document = { issuer: 'https://adfs.example/adfs', access_token_issuer: trust };
      const adfs = await startLoopback(answering({ ...document, jwks_uri: `${provider.issuer}/jwks` }));
      const changes = { 'Service:UpstreamIdp:Issuer': '', 'Service:UpstreamIdp:MetadataUrl': `${adfs.url}/document` };
      expect(failedOf(await explain(mint({ iss: trust, scope: 'jira:read' }), { changes }))).to.deep.equal([]);
      const wrong = await explain(mint({ iss: document.issuer }), { changes });
      expect(failedOf(wrong)).to.deep.equal(['token iss', 'verdict']);
      expect(sentenceOf(wrong, 'token iss')).to.equal(
        `iss is "${document.issuer}"; that of the identity provider's access tokens is "${trust}".`,
      );
      await adfs.close();
    });

    it('reports a token that has the audience of the page as well', async () => {
      const changes = { 'Service:Me:Audience': 'https://mandate.example/me' };
      const both = mint({ aud: [provider.audience, 'https://mandate.example/me'], scope: 'jira:read' });
      const refused = await explain(both, { changes });
      expect(failedOf(refused)).to.deep.equal(['token aud', 'verdict']);
      expect(sentenceOf(refused, 'token aud')).to.equal(
        `aud is "${provider.audience}", "https://mandate.example/me"; expected is "${provider.audience}" without "https://mandate.example/me".`,
      );
      expect(sentenceOf(refused, 'verdict')).to.include('reason subject_audience_mismatch:');
      expect(failedOf(await explain(both))).to.deep.equal([]);
    });

    it('warns of a token that is bound to a key, and with RefuseBoundTokens reports the denial reason', async () => {
      const bound = mint({ cnf: { jkt: 'thumbprint' }, scope: 'jira:read' });
      const warned = await explain(bound);
      expect(warned.filter(({ status }) => status !== 'ok').map(({ check }) => check)).to.deep.equal(['token cnf']);
      const changes = { 'Service:UpstreamIdp:RefuseBoundTokens': 'true' };
      const refused = await explain(bound, { changes });
      expect(failedOf(refused)).to.deep.equal(['token cnf', 'verdict']);
      expect(sentenceOf(refused, 'verdict')).to.include('reason subject_bound_to_key:');
      expect(failedOf(await explain(mint({ cnf: null, scope: 'jira:read' }), { changes }))).to.deep.equal([]);
    });

    it('says what a logout does to the tasks of a token without sid', async () => {
      const logout = 'Service:UpstreamIdp:BackchannelLogout';
      const on = { [`${logout}:Audience`]: 'portal' };
      for (const [sid, changes, status, sentence] of [
        [undefined, {}, 'ok', /Back-channel logout is off, so no logout ends tasks\.$/],
        [undefined, on, 'warning', /names the person and a session does not end its tasks\./],
        [null, on, 'warning', /names the person and a session does not end its tasks\./],
        [undefined, { ...on, [`${logout}:EndTasksWithoutSession`]: 'true' }, 'ok', /^There is no sid: each logout /],
        ['session-of-ada', on, 'ok', /^sid names a session\.$/],
      ] as const) {
        const findings = await explain(mint({ sid, scope: 'jira:read' }), { changes });
        const found = findings.find(({ check }) => check === 'token sid');
        expect(found?.status).to.equal(status);
        expect(found?.sentence).to.match(sentence);
        expect(findings.at(-1)).to.include({ check: 'verdict', status: 'ok' });
      }
    });

    const single: readonly (readonly [string, () => string, string, string])[] = [
      ['has the typ of a logout token', () => mint({}, { typ: 'logout+jwt' }), 'token form', 'subject_malformed'],
      ['is an ID token by its claims', () => mint({ at_hash: 'hash' }), 'token form', 'subject_malformed'],
      ['is opaque', () => 'opaque-0123456789-0123456789-0123456789-0123456789', 'token form', 'subject_malformed'],
      [
        'was signed by an unpublished key',
        () => mint({}, { kid: 'unknown' }),
        'token signature',
        'subject_unknown_key',
      ],
      ['was changed after it was signed', () => tampered(mint()), 'token signature', 'subject_invalid_signature'],
      ['names the algorithm none', () => mint({}, { alg: 'none' }), 'token signature', 'subject_unsupported_algorithm'],
      [
        'is not yet valid',
        () => mint({ nbf: Math.floor(Date.now() / 1000) + 900 }),
        'token iat, nbf',
        'subject_not_yet_valid',
      ],
      ['has an unusable sid', () => mint({ sid: 7 }), 'token sid', 'subject_malformed'],
      ['grants no scope', () => mint({ scope: undefined }), 'token scopes', 'scope_intersection_empty'],
      ['has an unusable sponsor key', () => mint({ oid: 'a b' }), 'token sponsor key', 'sponsor_key_missing'],
    ];
    for (const [title, token, check, reason] of single) {
      it(`reports ${reason} for a token that ${title}`, async () => {
        const findings = await explain(token());
        expect(failedOf(findings)).to.deep.equal([check, 'verdict']);
        expect(sentenceOf(findings, 'verdict')).to.include(`reason ${reason}:`);
      });
    }

    for (const [title, claims, sentence] of [
      ['of the client itself', { sub: 'svc-7', client_id: 'svc-7' }, 'Its sub is the client itself'],
      ['of a grant without a user', { gty: ['client-credentials'] }, 'Its gty says client credentials'],
      ['of an application', { idtyp: 'app' }, 'Its idtyp says app'],
      [
        'of an application without idtyp',
        { sub: 'object-7', oid: 'object-7', azpacr: '1', scp: undefined },
        'Its sub is the oid of an application',
      ],
      [
        'of a service account',
        { client_id: 'svc-7', preferred_username: 'service-account-svc-7' },
        'Its preferred_username is that of a service account',
      ],
    ] as const) {
      it(`says first that no person is behind a token ${title}`, async () => {
        const findings = await explain(mint(claims));
        expect(failedOf(findings)).to.deep.equal(['token person', 'token sub', 'verdict']);
        expect(findings[0]?.check).to.equal('token person');
        expect(findings[0]?.sentence).to.match(new RegExp(`^No person is behind it\\. ${sentence}:`));
        expect(JSON.stringify(findings)).not.to.include('svc-7');
        expect(sentenceOf(findings, 'verdict')).to.include('reason subject_not_a_person:');
      });
    }

    it('uses the clock of the service', async () => {
      const clock = movedClock();
      clock.advance(7200);
      const findings = await explain(mint(), { clock });
      expect(failedOf(findings)).to.deep.equal(['token exp', 'verdict']);
      expect(sentenceOf(findings, 'token exp')).to.match(/^It expired (1 hour|59 minutes \d+ seconds?)/);
    });

    it('prints no control character from the token', async () => {
      const findings = await explain(mint({ iss: 'https://a\u001b[2J\u009b\u202e"', aud: ['x'.repeat(500)] }));
      expect(sentenceOf(findings, 'token iss')).to.match(/^iss is "https:\/\/a\?\[2J\?\?\?"; /);
      expect(sentenceOf(findings, 'token aud')?.length).to.be.lessThan(300);
    });

    it('fails with subject_keys_unavailable if the identity provider does not answer', async () => {
      const findings = await explain(mint(), { changes: { 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' } });
      expect(failedOf(findings)).to.deep.equal(['token signature', 'verdict']);
      expect(sentenceOf(findings, 'verdict')).to.include('temporarily_unavailable, reason subject_keys_unavailable');
    });

    it('checks logouts of the person if the service refuses tokens from before a logout', async () => {
      const clock = movedClock();
      const at = clock.now();
      const changes = {
        'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
        'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'true',
      };
      const logoutOf = async (claims: object) =>
        (await explain(mint(claims), { person: true, clock, changes })).find(({ check }) => check === 'person logout');
      expect(await logoutOf({})).to.include({ status: 'ok', sentence: 'The token is not from before a logout.' });
      const storage = await database.open();
      const occurrence = { issuer: provider.issuer, forgetAt: at, at };
      const remember = { statedAt: at, forgetAt: plusSeconds(at, 60) };
      const [person, session] = [
        { kind: 'person', subject: 'ada-of-the-logout' },
        { kind: 'session', sessionId: 'session-of-the-logout', subject: undefined },
      ] as const;
      await storage.signals.logOut({ ...occurrence, jti: 'person', loggedOut: person, remember });
      await storage.signals.logOut({ ...occurrence, jti: 'session', loggedOut: session, remember });
      await storage.close();
      const iat = toSeconds(at);
      for (const [claims, status] of [
        [{ sub: person.subject, iat }, 'failed'],
        [{ sub: person.subject, iat: iat + 1 }, 'ok'],
        [{ sid: session.sessionId, iat: iat + 1 }, 'failed'],
      ] as const) {
        expect((await logoutOf(claims))?.status).to.equal(status);
      }
      clock.advance(60);
      expect((await logoutOf({ sid: session.sessionId }))?.status).to.equal('ok');
    });

    it('checks the blocks of the person and the status at the identity provider if --person is given', async () => {
      const asked = async () => (await explain(mint(), { person: true })).slice(CHECKS.length);
      expect((await asked()).map(({ check, status }) => [check, status])).to.deep.equal([
        ['person block', 'ok'],
        ['person at provider', 'ok'],
      ]);
      for (const [answer, sentence] of [
        [answering({ enabled: false }), /is disabled/],
        [answering({}, 404), /does not know the person by the sub/],
        [answering({}, 403), /did not answer about the person.*403/],
      ] as const) {
        directory.answer = answer;
        expect((await asked())[1]?.sentence).to.match(sentence);
      }
      const sponsorKey = parseSponsorKey(good.oid);
      if (sponsorKey === undefined) throw new Error('no sponsor key');
      const storage = await database.open();
      const block = { sponsorKey, source: 'scim', kind: 'deleted', blockedAt: movedClock().now() } as const;
      await storage.sponsors.block(block, 'sponsor_blocked');
      expect((await asked())[0]).to.include({
        status: 'failed',
        sentence: 'The person is blocked: source scim, kind deleted.',
        remedy: 'Only its source can lift it.',
      });
      const operators = { ...block, source: 'admin', kind: 'disabled', blockedAt: movedClock().now() } as const;
      await storage.sponsors.block({ ...operators, blockedAt: plusSeconds(operators.blockedAt, 1) }, 'sponsor_blocked');
      await storage.close();
      expect((await asked())[0]).to.include({
        status: 'failed',
        sentence: 'The person is blocked: source scim, kind deleted; source admin, kind disabled.',
        remedy:
          'Each source lifts its own block only. An operator lifts theirs: DELETE /admin/sponsors/{sponsor_key}/block.',
      });
      const refused = await explain(mint({ exp: 1 }), { person: true });
      expect(refused.at(-1)).to.deep.include({ check: 'person', status: 'skipped' });
    });

    // This command opens no database, so one engine is enough.
    if (kind.engine === 'sqlite')
      it('reads the token from standard input, and exits with 0 or 3', async () => {
        const folder = mkdtempSync(join(tmpdir(), 'mandate-token-'));
        const file = join(folder, 'token');
        const doctor = (shell?: string) => runCommand(['doctor', '--subject-token', '-'], settings, shell);
        for (const [token, code] of [
          [mint(), 0],
          [mint({ aud: 'account' }), 3],
        ] as const) {
          writeFileSync(file, `${token}\n`);
          const ended = await doctor(`exec < ${file}`);
          expect([ended.code, ended.err], ended.out).to.deep.equal([code, '']);
          expect(ended.out).to.match(/\n(ok|failed) +verdict /);
          for (const part of token.split('.')) expect(ended.out).not.to.include(part.slice(0, 30));
        }
        const nothing = await doctor();
        expect([nothing.code, nothing.err]).to.deep.equal([3, '']);
        expect(nothing.out).to.include('Standard input held no token.');
        writeFileSync(file, 'a'.repeat(17_000));
        const long = await doctor(`exec < ${file}`);
        expect(long.code).to.equal(3);
        expect(long.out).to.include('longer than 16384 characters, and would be refused with invalid_request.');
        rmSync(folder, { recursive: true });
      });
  });
}

/** The same token, with a claim that was changed after signing. */
function tampered(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const other = Buffer.from(JSON.stringify({ ...claims, client_id: 'other' })).toString('base64url');
  return [header, other, signature].join('.');
}
