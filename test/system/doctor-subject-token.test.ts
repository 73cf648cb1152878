/** `mandate doctor --subject-token -` says why the service would accept or refuse a token, and never prints the token. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseSponsorKey } from '../../domain/identifiers.ts';
import { plusSeconds, toSeconds } from '../../domain/instant.ts';
import { runCommand } from '../support/command-process.ts';
import { databasesByLength } from '../support/databases.ts';
import { answering } from '../support/loopback.ts';
import { movedClock } from '../support/moved-clock.ts';
import { testClaims } from './doctor/claims.ts';
import { explainedTokens } from './doctor/explained.ts';

const CLAIMS = [
  ...['person', 'form', 'signature', 'iss', 'exp', 'iat, nbf', 'aud', 'sub', 'act'],
  ...['cnf', 'sponsor key', 'sid', 'scopes'],
];

const CHECKS = [...CLAIMS.map((claim) => `token ${claim}`), 'verdict'];

for (const kind of databasesByLength) {
  describe(`mandate doctor --subject-token on ${kind.name}`, () => {
    const explained = explainedTokens(kind);
    const { good, mint, explain, failedOf, sentenceOf } = explained;

    it('reports ok for every claim of an acceptable token', async () => {
      const findings = await explain(mint({ scope: 'jira:read wiki:read' }));
      expect(findings.map(({ check }) => check)).to.deep.equal(CHECKS);
      expect(findings.map(({ status }) => status)).to.deep.equal(CHECKS.map(() => 'ok'));
      expect(sentenceOf(findings, 'token exp')).to.match(/^It expires in (59 minutes \d+ seconds?|1 hour)\.$/);
      expect(sentenceOf(findings, 'token scopes')).to.equal('The person holds "jira:read", "wiki:read".');
      expect(sentenceOf(findings, 'verdict')).to.equal('The token would be accepted as a subject token.');
    });

    it('reports every fault, and the denial reason that the service would record', async () => {
      const { provider } = explained;
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
      const { provider, database } = explained;
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
      const { directory, database } = explained;
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

    // This command opens no explained.database, so one engine is enough.
    if (kind.engine === 'sqlite')
      it('reads the token from standard input, and exits with 0 or 3', async () => {
        const { settings } = explained;
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

    testClaims(explained);
  });
}
