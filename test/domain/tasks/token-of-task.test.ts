import { expect } from 'chai';
import { makeTaskId, makeTokenId } from '../../../domain/identifiers.ts';
import { taskTokenClaims } from '../../../domain/tasks/task-token.ts';
import { isTokenOf } from '../../../domain/tasks/token-of-task.ts';
import { readClaims } from '../../../domain/tokens/claims.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { aDelegator, agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { forgedClaims } from '../../support/forged-claims.ts';

const ISSUER = 'https://mandate.example';
const task = aTask();
const status = { status_list: { idx: 413, uri: `${ISSUER}/status/q80B-f_nWEZ5HLXzGk6-zA` } };

function issued(changes: Partial<Parameters<typeof taskTokenClaims>[0]> = {}): JsonObject {
  const tokenId = makeTokenId('01M31S7W68TMK7WDX8YKPSYTEZ');
  const made = { issuer: ISSUER, tokenId, task, agent: anAgent(), scope: task.scope, instance: 'pod-1', now: NOON };
  return taskTokenClaims({ ...made, ...changes }).claims;
}

const isOurs = (claims: JsonObject, of = task): boolean => {
  const read = readClaims(JSON.parse(JSON.stringify(claims)));
  return read !== undefined && isTokenOf(of, read, ISSUER);
};

describe('a token of its stored task', () => {
  it('is each token that an exchange or a refresh makes, whatever differs between tokens', () => {
    const agents = [anAgent(), anAgent({ maxTokenTtl: 3600 }), anAgent({ highRiskAudiences: [task.audience] })];
    const scopes = [task.scope, ['jira:read'], ['jira:comment'], ['jira:comment', 'jira:read']];
    for (const agent of agents) {
      for (const scope of scopes) {
        for (const instance of [undefined, 'pod-1', ' x', 'é😀', 'i'.repeat(128)]) {
          const claims = issued({ agent, scope, instance });
          expect(isOurs(claims)).to.equal(true);
          expect(isOurs({ ...claims, status })).to.equal(true);
          expect(isOurs({ ...claims, status }, aTask({ origin: { held: [], asked: [] }, sponsorKey: 'x' as never })));
        }
      }
    }
  });

  it('is a token that an nbf restricts', () => {
    expect(isOurs({ ...issued(), nbf: 1 })).to.equal(true);
  });

  it('is no token with another value of any claim, or with a claim more or less', () => {
    const claims = { ...issued(), status };
    const forged = forgedClaims(claims);
    for (const [claim, forms] of forged) {
      expect(forms.length, claim).to.be.at.least(5);
      for (const form of forms) expect(isOurs(form), `${claim}: ${JSON.stringify(form[claim])}`).to.equal(false);
    }
    const written = Object.keys({ ...claims, introspect_required: true }).filter((name) => name !== 'jti');
    expect(forged.map(([claim]) => claim)).to.include.members(written.filter((name) => name !== 'iss'));
  });

  it('is no token of another task', () => {
    for (const other of [
      aTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA') }),
      aTask({ agentId: agentIdOf('another') }),
      aTask({ sponsor: 'Ada' }),
      aTask({ audience: 'https://jira.example/' }),
      aTask({ scope: ['jira:read'] }),
      aTask({ delegatedBy: [aDelegator(makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'))] }),
      aTask({ expiresAt: NOON }),
    ]) {
      expect(isOurs(issued(), other)).to.equal(false);
      expect(isOurs(issued({ task: other, scope: other.scope }), other)).to.equal(true);
    }
  });

  it('has no status claim of a task that has no status', () => {
    const without = aTask({ status: undefined });
    expect(isOurs({ ...issued(), status }, without)).to.equal(false);
    expect(isOurs(issued(), without)).to.equal(true);
  });
});
