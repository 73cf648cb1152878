import { expect } from 'chai';
import {
  isOfferOf,
  MAX_OFFER_TTL,
  makeOfferId,
  offerClaims,
  readOffer,
  spentOffer,
} from '../../../domain/delegation/offer.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { instantFromSeconds, plusSeconds, toSeconds } from '../../../domain/instant.ts';
import { readClaims } from '../../../domain/tokens/claims.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { aDelegator, agentIdOf, aTask, NOON } from '../../support/domain-fixtures.ts';
import { forgedClaims } from '../../support/forged-claims.ts';

const ISSUER = 'https://mandate.example';
const OFFER_ID = makeOfferId('01M31S7W68TMK7WDX8YKPSYTEB');
const above = aDelegator(makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'));
const task = aTask({ delegatedBy: [above], delegationDepth: 2 });
const child = agentIdOf('wiki-writer');

function offered(changes: Partial<Parameters<typeof offerClaims>[0]> = {}) {
  const of = {
    issuer: ISSUER,
    offerId: OFFER_ID,
    task,
    child,
    scope: task.scope,
    instance: 'pod-1',
    now: NOON,
    ttl: 60,
  };
  return offerClaims({ ...of, ...changes });
}

function isOurs(json: JsonObject, of = task): boolean {
  const claims = readClaims(JSON.parse(JSON.stringify(json)));
  const offer = claims && readOffer(claims);
  return claims !== undefined && offer !== undefined && isOfferOf(of, offer, claims, ISSUER);
}

describe('An offer of a task', () => {
  it('is what was offered, with the whole chain, to one agent', () => {
    const { claims, expiresIn } = offered({ scope: ['jira:read'] });
    const iat = toSeconds(NOON);
    expect({ claims, expiresIn }).to.deep.equal({
      claims: {
        iss: ISSUER,
        sub: 'ada',
        aud: ISSUER,
        exp: iat + 60,
        iat,
        jti: OFFER_ID,
        scope: 'jira:read',
        resource: task.audience,
        act: {
          sub: 'agent:jira-triage',
          instance: 'pod-1',
          depth: 2,
          act: { sub: 'agent:jira-lead', instance: 'lead-7', depth: 1 },
        },
        may_act: { sub: 'agent:wiki-writer' },
        task: { id: task.taskId, exp: toSeconds(task.expiresAt), sponsor: 'ada' },
      },
      expiresIn: 60,
    });
    const read = readClaims(claims);
    expect(read && readOffer(read)).to.deep.equal({
      offerId: OFFER_ID,
      taskId: task.taskId,
      child,
      instance: 'pod-1',
      audience: task.audience,
      scope: ['jira:read'],
      issuedAt: instantFromSeconds(iat),
      expiresAt: instantFromSeconds(iat + 60),
    });
  });

  it('ends with its task at the latest', () => {
    const now = plusSeconds(task.expiresAt, -7);
    expect(offered({ now }).claims.exp).to.equal(toSeconds(task.expiresAt));
  });

  it('is each offer that the service makes for the task', () => {
    for (const instance of [undefined, 'pod-1', 'é😀']) {
      for (const scope of [task.scope, ['jira:comment']]) {
        for (const ttl of [10, MAX_OFFER_TTL]) {
          expect(isOurs(offered({ instance, scope, ttl }).claims)).to.equal(true);
        }
      }
    }
  });

  it('is none with another value of any claim, or with a claim more or less: also with a signature', () => {
    const { claims } = offered();
    const exp = Number(claims.exp);
    const forms: Readonly<Record<string, readonly unknown[]>> = {
      ...Object.fromEntries(
        forgedClaims(claims)
          .filter(([claim]) => ['sub', 'scope', 'act', 'task', 'sid', 'cnf', 'email'].includes(claim))
          // The chain has two levels.
          .map(([claim, all]) => [
            claim,
            all.map((each) => each[claim]).filter((each) => !isSame(each, claims[claim])),
          ]),
      ),
      iss: ['https://other.example', `${ISSUER}/`, undefined],
      aud: [task.audience, [ISSUER], `${ISSUER}/`, null, undefined],
      resource: ['https://wiki.example', `${task.audience}/`, [task.audience], '', undefined],
      may_act: [
        {},
        { sub: child },
        { sub: `agent:${child}`, iss: ISSUER },
        { sub: [`agent:${child}`] },
        null,
        undefined,
      ],
      jti: ['offer_1', 'tok_01M31S7W68TMK7WDX8YKPSYTEB', `${OFFER_ID}x`, 7, undefined],
      iat: [undefined, null, '1', 1.5, Number(claims.iat) - MAX_OFFER_TTL],
      exp: [exp + MAX_OFFER_TTL, toSeconds(task.expiresAt) + 1, 'never', null, undefined],
      nbf: [1, exp, 0, Number(claims.iat), 7],
      client_id: ['agent:jira-triage', 'agent:wiki-writer', '', null, 1],
    };
    for (const [claim, values] of Object.entries(forms)) {
      for (const value of values) {
        expect(isOurs({ ...claims, [claim]: value } as JsonObject), `${claim}: ${JSON.stringify(value)}`).to.equal(
          false,
        );
      }
    }
    expect(Object.keys(forms)).to.include.members(Object.keys(claims));
  });

  it('is none that outlives its task, however short its own life', () => {
    const end = toSeconds(task.expiresAt);
    const { claims } = offered({ now: plusSeconds(task.expiresAt, -30) });
    expect(isOurs(claims)).to.equal(true);
    expect(isOurs({ ...claims, exp: end + 1 })).to.equal(false);
  });

  it('is none of another task', () => {
    for (const other of [
      aTask({ ...task, taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEC') }),
      aTask({ ...task, agentId: agentIdOf('another') }),
      aTask({ ...task, sponsor: 'Ada' }),
      aTask({ ...task, audience: 'https://jira.example/' }),
      aTask({ ...task, scope: ['jira:read'] }),
      aTask({ ...task, delegatedBy: [] }),
      aTask({ ...task, delegatedBy: [{ ...above, instance: undefined }] }),
      aTask({ ...task, expiresAt: plusSeconds(NOON, 60) }),
    ]) {
      expect(isOurs(offered().claims, other)).to.equal(false);
    }
  });

  it('is kept as used until no clock accepts it, and longer after a restore', () => {
    const read = readClaims(offered().claims);
    const offer = read && readOffer(read);
    const iat = instantFromSeconds(toSeconds(NOON));
    expect(offer && spentOffer(offer)).to.deep.equal({
      offerId: OFFER_ID,
      forgetAt: plusSeconds(iat, 120),
      latestForgetAt: plusSeconds(iat, 360),
    });
  });
});

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
