import { expect } from 'chai';
import { readTaskToken } from '../../../application/token/introspect.ts';
import { makeTaskId, makeTokenId } from '../../../domain/identifiers.ts';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { taskTokenClaims } from '../../../domain/tasks/task-token.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { claimsOf } from '../../support/claims.ts';
import { anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';

const ISSUER = 'https://mandate.example';
const ULID = '01M31S7W68TMK7WDX8YKPSYTEZ';

describe('reading a task token back', () => {
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  let claims: JsonObject;
  before(async () => {
    signingKeys = await newKeys();
    const [task, agent] = [aTask(), anAgent()];
    const token = { issuer: ISSUER, tokenId: makeTokenId(ULID), task, agent, scope: task.scope, instance: 'pod-7' };
    claims = taskTokenClaims({ ...token, now: NOON }).claims;
  });

  const read = (text: string) => readTaskToken({ signingKeys, issuer: ISSUER }, text);
  const readSigned = async (changes: JsonObject = {}, type = 'at+jwt') =>
    read(await signingKeys.sign(type, { ...claims, ...changes }));

  it('returns the ids, the expiry and every claim', async () => {
    expect(await readSigned()).to.deep.equal({
      tokenId: makeTokenId(ULID),
      taskId: aTask().taskId,
      expiresAt: instantFromSeconds(Number(claims.exp)),
      claims: claimsOf(claims),
    });
  });

  it('returns an expired token: the caller checks the expiry', async () => {
    const exp = Number(claims.exp) - 100_000;
    expect((await readSigned({ exp }))?.expiresAt).to.equal(instantFromSeconds(exp));
  });

  for (const type of ['JWT', 'jwt', 'logout+jwt', 'secevent+jwt', 'checkpoint+jwt', 'at+jwt2', '']) {
    it(`refuses a token of the service's key with the typ "${type}", whatever its claims`, async () => {
      expect(await readSigned({}, type)).to.equal(undefined);
    });
  }

  for (const iss of [`${ISSUER}/`, 'https://MANDATE.example', 'https://other.example', '', 7, null]) {
    it(`refuses a token of the service's key with the iss ${JSON.stringify(iss)}`, async () => {
      expect(await readSigned({ iss })).to.equal(undefined);
    });
  }

  for (const [what, changes] of [
    ['no exp', { exp: undefined }],
    ['an exp that is not a date', { exp: 'tomorrow' }],
    ['no jti', { jti: undefined }],
    ['a jti that is not a token id', { jti: makeTaskId(ULID) }],
    ['no task', { task: undefined }],
    ['a task that is a string', { task: makeTaskId(ULID) }],
    ['a task without an id', { task: { sponsor: 'ada' } }],
    ['a task whose id is not a task id', { task: { id: makeTokenId(ULID) } }],
  ] as const) {
    it(`refuses a token of the service's key with ${what}`, async () => {
      expect(await readSigned(changes)).to.equal(undefined);
    });
  }

  it('refuses the same claims signed by another key, and text that is not a token', async () => {
    const stranger = await newKeys();
    const foreign = await stranger.sign('at+jwt', claims);
    const kid = readCompactJws(await signingKeys.sign('at+jwt', claims))?.keyId;
    const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url');
    const underOurKid = [header, ...foreign.split('.').slice(1)].join('.');
    for (const text of [foreign, underOurKid, 'a.b.c', '']) expect(await read(text)).to.equal(undefined);
  });
});
