import { expect } from 'chai';
import fc from 'fast-check';
import { makeTokenId } from '../../../domain/identifiers.ts';
import { instantFromMicros, instantFromSeconds, toSeconds } from '../../../domain/instant.ts';
import { taskTokenClaims } from '../../../domain/tasks/task-token.ts';
import { anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';

const tokenId = makeTokenId('01M31S7WB51M1NEY4A5R71XXAE');
const token = {
  issuer: 'https://mandate.example',
  tokenId,
  task: aTask(),
  agent: anAgent(),
  scope: ['jira:read'],
  instance: 'pod-7',
  now: NOON,
};

describe('the claims of a task token', () => {
  it('are those of the specification: sub is the person, and act is the agent', () => {
    expect(taskTokenClaims(token)).to.deep.equal({
      claims: {
        iss: 'https://mandate.example',
        sub: 'ada',
        aud: 'https://jira.example',
        exp: 1_789_653_821 + 300,
        iat: 1_789_653_821,
        jti: tokenId,
        scope: 'jira:read',
        client_id: 'agent:jira-triage',
        act: { sub: 'agent:jira-triage', instance: 'pod-7', depth: 1 },
        task: { id: token.task.taskId, exp: 1_789_653_821 + 1800, sponsor: 'ada' },
      },
      expiresIn: 300,
    });
  });

  it('carry introspect_required, as true, only for a high-risk audience', () => {
    const risky = taskTokenClaims({ ...token, task: aTask({ audience: 'https://wiki.example' }) });
    expect(risky.claims.introspect_required).to.equal(true);
    expect(taskTokenClaims(token).claims).not.to.have.property('introspect_required');
  });

  it('leave out act.instance if the agent named none', () => {
    expect(taskTokenClaims({ ...token, instance: undefined }).claims.act).to.deep.equal({
      sub: 'agent:jira-triage',
      depth: 1,
    });
  });

  it('never end after the task, whatever the lifetimes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 0, max: 999_999 }),
        (ttl, left, micros) => {
          const now = instantFromMicros(1_789_653_821_000_000 + micros);
          const task = aTask({ expiresAt: instantFromSeconds(toSeconds(now) + left) });
          const { claims, expiresIn } = taskTokenClaims({ ...token, now, task, agent: anAgent({ maxTokenTtl: ttl }) });
          expect(expiresIn).to.equal(Math.min(ttl, left));
          expect(claims.exp).to.equal(toSeconds(now) + expiresIn);
          expect(claims.exp).to.be.at.most(toSeconds(task.expiresAt));
        },
      ),
    );
  });
});
