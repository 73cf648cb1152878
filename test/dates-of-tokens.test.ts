/** Every reader of a JWT honours `exp` and `nbf` if they are there (supplement "Shared Signals"), with the skew of 60 s. */

import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { signIn } from '../adapters/identity-provider/sign-in.ts';
import { sha256, systemRandomness } from '../adapters/platform/system-crypto.ts';
import type { Issuer } from '../adapters/sdk/tool-server/core/issuers.ts';
import { readStatusList } from '../adapters/sdk/tool-server/core/status-list-token.ts';
import { verifyToken } from '../adapters/sdk/tool-server/core/verify-token.ts';
import { askForApproval } from '../application/approvals/ask.ts';
import { authenticateAgent } from '../application/authentication/authenticate-agent.ts';
import { validateMeToken } from '../application/authentication/validate-me-token.ts';
import { validateOperator } from '../application/authentication/validate-operator.ts';
import { validateSubjectToken } from '../application/authentication/validate-subject-token.ts';
import { explainSubjectToken } from '../application/doctor/explain-subject-token.ts';
import type { Decisions } from '../application/ports/decisions.ts';
import type { SigningKeys } from '../application/ports/keys.ts';
import type { ChainedTask, Tasks } from '../application/ports/tasks.ts';
import { acceptLogout } from '../application/signals/accept-logout.ts';
import { acceptSecurityEvent } from '../application/signals/accept-security-event.ts';
import { introspectToken } from '../application/token/introspect.ts';
import { takeUp } from '../application/token/take-up.ts';
import { makeOfferId, OFFER_TYPE, offerClaims } from '../domain/delegation/offer.ts';
import { makeTokenId } from '../domain/identifiers.ts';
import { instantFromSeconds, plusSeconds } from '../domain/instant.ts';
import { Secret } from '../domain/secret.ts';
import { packStatuses } from '../domain/tasks/status-list.ts';
import { taskTokenClaims } from '../domain/tasks/task-token.ts';
import { capturedLog } from './support/captured-log.ts';
import { agentIdOf, anAgent, aTask } from './support/domain-fixtures.ts';
import { agreeing } from './support/moved-clock.ts';
import { makeSigningKey, type SigningKey } from './support/signing-key.ts';
import { sourceFiles } from './support/source-files.ts';
import { digestOf } from './support/tool-server/approval-request.ts';
import { compressed } from './support/tool-server/status-lists.ts';

const NOW = Math.floor(Date.now() / 1000);
const SKEW = 60;
/** The distance from the skew, so large that no slow test crosses it. */
const MARGIN = 30;

const IDP = 'https://idp.example';
const HERE = 'https://mandate.example';
const CLIENT = 'portal';
const task = aTask({ createdAt: instantFromSeconds(NOW - 5), expiresAt: instantFromSeconds(NOW + 1800) });

type Claims = Readonly<Record<string, unknown>>;

/** How one reader takes a token: `accepted`, or the reason, check or sentence with which it does not. */
interface Reader {
  readonly file: string;
  readonly type: string;
  readonly claims: Claims;
  readonly read: (token: string) => Promise<string>;
  readonly expired: string;
  readonly notYetValid: string;
}

const clock = { now: () => instantFromSeconds(NOW) };
const sharedTime = agreeing(clock);
const providerKeys = { verify: async () => ({ kind: 'verified', issuer: IDP }) as const, lastFetchedAt: clock.now };
const validation = { providerKeys, clock, sharedTime, audience: HERE, sponsorKeyClaim: 'sub', refuseBound: false };
const person = { iss: IDP, aud: HERE, sub: 'ada', iat: NOW - 5, exp: NOW + 300, scope: 'jira:read' };
const signal = { iss: IDP, aud: HERE, jti: 'signal-7', iat: NOW - 5 };
const anonymous = { record: async () => undefined };
/** Applies whatever it is asked to. */
const decisions = { decide: async () => ({ kind: 'applied' }) } as unknown as Decisions;
const tasks: Pick<Tasks, 'tokenFacts' | 'chain'> = {
  chain: async () => [],
  tokenFacts: async () => ({
    tokenRevocation: undefined,
    task,
    taskState: { kind: 'live' },
    agentEnabled: true,
  }),
};
const told = (outcome: { kind: string; denial?: { reason: string }; reason?: string }) =>
  outcome.kind === 'denied' || outcome.kind === 'refused'
    ? (outcome.denial?.reason ?? outcome.reason ?? '?')
    : 'accepted';

describe('The dates of a token', () => {
  let key: SigningKey;
  before(async () => {
    key = await makeSigningKey('ES256');
  });
  const published = {
    find: async () => ({ kind: 'found', key: createPublicKey(key.privateKey) }) as const,
  };

  const readers: Readonly<Record<string, Reader>> = {
    'a client assertion': {
      file: 'application/authentication/authenticate-agent.ts',
      type: 'JWT',
      claims: { iss: 'jira-triage', sub: 'jira-triage', aud: HERE, jti: 'once', exp: NOW + 200 },
      read: async (assertion) => {
        const agents = { find: async () => anAgent() };
        const agentKeys = { verify: async () => ({ kind: 'verified' }) as const, isUsable: async () => true };
        const service = { agents, agentKeys, clock, sharedTime, audiences: [HERE] };
        return told(await authenticateAgent(service, { assertion, clientId: undefined }));
      },
      expired: 'actor_expired',
      notYetValid: 'actor_not_yet_valid',
    },
    'a subject token': {
      file: 'application/authentication/validate-subject-token.ts',
      type: 'at+jwt',
      claims: person,
      read: async (token) => told(await validateSubjectToken(validation, token)),
      expired: 'subject_expired',
      notYetValid: 'subject_not_yet_valid',
    },
    'an access token at /me': {
      file: 'application/authentication/validate-subject-token.ts',
      type: 'at+jwt',
      claims: person,
      read: async (token) => told(await validateMeToken(validation, token)),
      expired: 'subject_expired',
      notYetValid: 'subject_not_yet_valid',
    },
    "an operator's access token": {
      file: 'application/authentication/validate-operator.ts',
      type: 'at+jwt',
      claims: { ...person, roles: ['reader'] },
      read: async (token) => {
        const roles = { viewer: 'reader', auditor: undefined, registrar: undefined, responder: undefined };
        return told(await validateOperator({ ...validation, roleClaim: 'roles', roles }, token));
      },
      expired: 'subject_expired',
      notYetValid: 'subject_not_yet_valid',
    },
    'a subject token that doctor explains': {
      file: 'application/doctor/explain-subject-token.ts',
      type: 'at+jwt',
      claims: person,
      read: async (token) => {
        const { findings } = await explainSubjectToken(
          {
            ...validation,
            issuer: IDP,
            backchannelLogout: false,
            endTasksWithoutSession: false,
            mayAct: 'ignore',
            actorIssuers: [],
            agents: async () => [],
          },
          token,
        );
        return findings.find(({ status }) => status === 'failed')?.check ?? 'accepted';
      },
      expired: 'token exp',
      notYetValid: 'token iat, nbf',
    },
    'an ID token': {
      file: 'adapters/identity-provider/sign-in.ts',
      type: 'JWT',
      claims: { ...person, aud: CLIENT, nonce: 'n'.repeat(43) },
      read: async (token) => {
        const document = {
          issuer: IDP,
          authorization_endpoint: `${IDP}/authorize`,
          token_endpoint: `${IDP}/token`,
          id_token_signing_alg_values_supported: ['ES256'],
        };
        const answer = { access_token: 'opaque', token_type: 'Bearer', id_token: token };
        const log = capturedLog();
        const signing = signIn(
          {
            clientId: CLIENT,
            clientSecret: new Secret('a secret of thirty-two characters'),
            redirectUri: `${HERE}/me/callback`,
            signedOutUri: `${HERE}/me/signed-out`,
            sponsorKeyClaim: 'sub',
            assertionAudience: 'issuer',
            pushedAuthorization: 'auto',
          },
          {
            metadata: { document: async () => document, cachedDocument: () => document, isPlain: false },
            providerKeys,
            log,
            clock,
            network: { send: async () => ({ status: 200, body: JSON.stringify(answer) }) },
            assertion: async () => '',
          },
        );
        const state = 's'.repeat(43);
        const attempt = { state, nonce: 'n'.repeat(43), codeVerifier: 'v'.repeat(43), maxAge: undefined };
        return told(await signing.finish(attempt, `?code=c&state=${state}`));
      },
      expired: 'id_token_refused',
      notYetValid: 'id_token_refused',
    },
    'a logout token': {
      file: 'application/signals/accept-logout.ts',
      type: 'logout+jwt',
      claims: { ...signal, sub: 'ada', events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
      read: async (token) => {
        const client = { audience: HERE, endsTasks: true, closesSessions: undefined };
        const service = {
          decisions,
          providerKeys,
          anonymous,
          clock,
          sharedTime,
          clients: [client],
          refuseLoggedOut: false,
          endTasksWithoutSession: false,
          log: { warn: () => undefined },
          measurements: undefined,
        };
        return told(await acceptLogout(service, token));
      },
      expired: 'logout_expired',
      notYetValid: 'logout_not_yet_valid',
    },
    'a security event token': {
      file: 'application/signals/accept-security-event.ts',
      type: 'secevent+jwt',
      claims: {
        ...signal,
        sub_id: { format: 'opaque', id: 'ada' },
        events: { 'https://schemas.openid.net/secevent/risc/event-type/account-enabled': {} },
      },
      read: async (token) => {
        const log = { info: () => undefined, warn: () => undefined };
        const own = { log, measurements: undefined, audience: HERE };
        const service = { decisions, transmitterKeys: providerKeys, anonymous, clock, sharedTime, ...own };
        const upstreamIssuers = async () => ({ known: [IDP], isComplete: true });
        return told(await acceptSecurityEvent({ ...service, upstreamIssuers }, token));
      },
      expired: 'ssf_expired',
      notYetValid: 'ssf_not_yet_valid',
    },
    'a task token at introspection': {
      file: 'application/token/introspect.ts',
      type: 'at+jwt',
      claims: taskClaims(),
      read: async (token) => {
        const signingKeys = { verify: async () => true } as unknown as SigningKeys;
        const service = { tasks, signingKeys, clock, sharedTime, issuer: HERE, measurements: undefined };
        const { kind } = await introspectToken(service, token);
        return kind === 'active' ? 'accepted' : kind;
      },
      expired: 'inactive',
      notYetValid: 'inactive',
    },
    'a request for an approval': {
      file: 'domain/approvals/approval-request.ts',
      type: 'approval-request+jwt',
      claims: {
        iss: task.audience,
        aud: HERE,
        iat: NOW - 5,
        exp: NOW + 60,
        jti: 'once',
        task_id: task.taskId,
        digest: digestOf('delete 7'),
        title: 'Delete the issue',
        lines: [],
      },
      read: async (request) => {
        const service = {
          decisions: { decide: async () => ({ kind: 'spent' }) } as unknown as Decisions,
          tasks,
          measurements: undefined,
          signingKeys: { verify: async () => true } as unknown as SigningKeys,
          approvalKeys: { verify: async () => ({ kind: 'verified' }) as const },
          randomness: systemRandomness(),
          digest: sha256,
          log: { error: () => undefined },
          archivedPart: async () => undefined,
          issuer: HERE,
          clock,
          sharedTime,
          rules: {
            lifetime: 60,
            refusedFor: 60,
            maxPendingPerTask: 1,
            maxPendingPerPerson: 1,
            maxQuestionsPerHour: 9,
            notifies: false,
            keysAreSubjects: true,
          },
        };
        const token = key.sign({ alg: 'ES256', typ: 'at+jwt', kid: key.kid }, taskClaims());
        return told(await askForApproval(service, { token, request }));
      },
      expired: 'approval_request_expired',
      notYetValid: 'approval_request_expired',
    },
    'a task token at a tool server': {
      file: 'adapters/sdk/tool-server/core/verify-token.ts',
      type: 'at+jwt',
      claims: taskClaims(),
      read: async (token) => {
        const expected = { audience: task.audience, clockSkewSeconds: SKEW, now: NOW };
        const issuers = { choose: () => ({ issuer: HERE, keys: published }) as unknown as Issuer };
        return told(await verifyToken(issuers, token, expected));
      },
      expired: 'expired',
      notYetValid: 'not_yet_valid',
    },
    'a status list token': {
      file: 'adapters/sdk/tool-server/core/status-list-token.ts',
      type: 'statuslist+jwt',
      claims: {
        sub: `${HERE}/status/list`,
        iat: NOW - 5,
        exp: NOW + 60,
        ttl: 5,
        status_list: { bits: 2, lst: compressed(packStatuses(1024, [])) },
      },
      read: async (token) => {
        const expected = { uri: `${HERE}/status/list`, clockSkewSeconds: SKEW, now: NOW };
        const read = await readStatusList(published, token, expected);
        return read.kind === 'list' ? 'accepted' : read.problem;
      },
      expired: 'It has expired.',
      notYetValid: 'Its nbf is in the future.',
    },
  };

  for (const [name, { type, claims, read, expired, notYetValid }] of Object.entries(readers)) {
    const signed = (changes: Claims = {}) => {
      return key.sign({ alg: 'ES256', typ: type, kid: key.kid }, { ...claims, ...changes });
    };
    it(`count in ${name}: ${expired}, ${notYetValid}`, async () => {
      expect(await read(signed())).to.equal('accepted');
      expect(await read(signed({ exp: NOW - SKEW - MARGIN }))).to.equal(expired);
      expect(await read(signed({ nbf: NOW + SKEW + MARGIN }))).to.equal(notYetValid);
      expect(await read(signed({ nbf: NOW + SKEW - MARGIN }))).to.equal('accepted');
      // The service's own expiry is exact: its clock made it.
      const exact = name === 'a task token at introspection';
      expect(await read(signed({ exp: NOW - SKEW + MARGIN }))).to.equal(exact ? expired : 'accepted');
    });
  }

  it('count in an offer to another agent, exactly: the service made it, and writes no nbf', async () => {
    const parent = { task, state: { kind: 'live' }, scope: task.scope, grantHash: 'hash', agentEnabled: true } as const;
    const made = { issuer: HERE, offerId: makeOfferId('01M31S7W68TMK7WDX8YKPSYTEY'), child: agentIdOf('jira-triage') };
    const about = { task, instance: undefined, scope: task.scope, now: plusSeconds(clock.now(), -5), ttl: 65 };
    const { claims } = offerClaims({ ...made, ...about });
    const reasonOf = async (changes: Claims) => {
      const offer = key.sign({ alg: 'ES256', typ: OFFER_TYPE, kid: key.kid }, { ...claims, ...changes });
      return told(await presentOffer(key, offer, [parent]));
    };
    expect(await reasonOf({ exp: NOW })).to.equal('delegation_offer_expired');
    expect(await reasonOf({ exp: NOW + 1 }), 'the next check').to.equal('audience_mismatch');
    expect(await reasonOf({ nbf: NOW - 1 })).to.equal('delegation_offer_unknown');
    expect(await reasonOf({ exp: NOW + 400 })).to.equal('delegation_offer_unknown');
  });

  it('are checked here for every file that reads a JWT', () => {
    const reading = sourceFiles(['adapters', 'application', 'composition', 'domain'])
      .filter((file) => READS.test(readFileSync(file, 'utf8')))
      .toSorted();
    const known = ['application/token/take-up.ts', ...Object.values(readers).map(({ file }) => file)];
    expect(reading.filter((file) => !known.includes(file))).to.deep.equal(DECIDE_NOTHING);
  });
});

const READS = /\b(readCompactJws|decodeJwt|jwtVerify)[(<]/;
/** Files that read a token, and let nothing happen by it. */
const DECIDE_NOTHING = [
  // An agent compares its own token with the request for it. The tool server judges the token.
  'adapters/sdk/agent/issued-token.ts',
  'adapters/sdk/agent/mcp/mcp.ts',
  // An agent reads what an offer is for. The control plane judges it.
  'adapters/sdk/agent/offer.ts',
  // Reports how old a list is.
  'application/doctor/status-lists.ts',
  // Which use case reads a subject token that calls itself an offer.
  'domain/delegation/offer.ts',
  // The reader itself.
  'domain/tokens/compact-jws.ts',
];

/** Presents the offer for another resource than its own. */
function presentOffer(key: SigningKey, offer: string, chain: readonly ChainedTask[]) {
  const agents = { find: async () => anAgent(), confirm: async () => true, forget: () => undefined };
  const service = {
    agentCache: () => agents,
    agentKeys: { verify: async () => ({ kind: 'verified' }) as const, isUsable: async () => true },
    signingKeys: { verify: async () => true },
    tasks: { chain: async () => chain },
    clock,
    sharedTime,
    audiences: [HERE],
    issuer: HERE,
  } as unknown as Parameters<typeof takeUp>[0];
  const assertion = { iss: 'jira-triage', sub: 'jira-triage', aud: HERE, jti: 'once', exp: NOW + 200 };
  const actorToken = key.sign({ alg: 'ES256', typ: 'JWT', kid: key.kid }, assertion);
  const acting = { actorToken, clientAssertion: undefined, clientId: undefined };
  return takeUp(service, { ...acting, offer, resource: 'https://other.example', scope: ['a'], purpose: undefined });
}

function taskClaims(): Claims {
  const made = { issuer: HERE, tokenId: makeTokenId('01M31S7W68TMK7WDX8YKPSYTEZ'), task, agent: anAgent() };
  return taskTokenClaims({ ...made, scope: task.scope, instance: undefined, now: plusSeconds(clock.now(), -5) }).claims;
}
