/** Other clients concurrently register and remove the same agents. A real service does not do this on demand. */

import { expect } from 'chai';
import { type Applied, applyDeclarations } from '../../../application/admin/apply-declarations.ts';
import { AdminApiFailure } from '../../../application/ports/admin-api.ts';
import type { AgentRegistry } from '../../../application/ports/agent-registry.ts';
import type { Registration } from '../../../domain/agents/agent.ts';
import type { Declaration } from '../../../domain/agents/declaration.ts';
import { agentIdOf, anAgent } from '../../support/domain-fixtures.ts';

const agent: Registration = anAgent({ keys: { kind: 'remote', uri: 'https://keys.example/jwks.json' }, enabled: true });

function declared(changes: Partial<Registration> = {}) {
  const registration = { ...agent, ...changes };
  const { agentId, displayName, sponsorRequired, allowedScopes, allowedAudiences, maxDelegationDepth } = registration;
  const declaration: Declaration = {
    agentId,
    displayName,
    sponsorRequired,
    allowedScopes,
    allowedAudiences,
    maxDelegationDepth,
    jwksUri: 'https://keys.example/jwks.json',
    enabled: registration.enabled,
    ...(changes.delegatesTo && { delegatesTo: changes.delegatesTo }),
  };
  return { declaration, registration };
}

/** Returns the given answers in order, and records the requests. */
function registry(answers: readonly unknown[]): AgentRegistry & { readonly asked: readonly string[] } {
  const left = [...answers];
  const asked: string[] = [];
  const answer = async (question: string): Promise<never> => {
    asked.push(question);
    if (left.length === 0) throw new Error(`not expected: ${question}`);
    return left.shift() as never;
  };
  return {
    asked,
    find: (agentId) => answer(`find ${agentId}`),
    register: (fields) => answer(`register ${Object.keys(fields).length}`),
    change: (agentId, fields) => answer(`change ${agentId} ${JSON.stringify(fields)}`),
  };
}

async function applied(answers: readonly unknown[], changes: Partial<Registration> = {}, dryRun = false) {
  const fake = registry(answers);
  const seen: Applied[] = [];
  const end = await applyDeclarations({ registry: fake, dryRun, applied: (each) => seen.push(each) }, [
    declared(changes),
  ]).then(
    () => 'done',
    (error: unknown) => (error instanceof AdminApiFailure ? 'failed' : String(error)),
  );
  return { asked: fake.asked, outcomes: seen.map(({ outcome }) => outcome), end };
}

const { agentId } = agent;

describe('Applying a declaration', () => {
  it('changes an agent that another client registered after the lookup', async () => {
    const other = { ...agent, displayName: 'Registered by another' };
    expect(await applied([undefined, { kind: 'already_exists' }, other, { kind: 'changed' }])).to.deep.equal({
      asked: [
        `find ${agentId}`,
        'register 7',
        `find ${agentId}`,
        `change ${agentId} ${JSON.stringify({ displayName: agent.displayName })}`,
      ],
      outcomes: [{ kind: 'changed', fields: ['display_name'] }],
      end: 'done',
    });
  });

  it('registers an agent that another client removed after the lookup', async () => {
    const answers = [agent, { kind: 'not_found' }, undefined, { kind: 'registered' }];
    const { outcomes, end } = await applied(answers, { displayName: 'Other' });
    expect([outcomes, end]).to.deep.equal([[{ kind: 'created' }], 'done']);
  });

  it('gives up if other clients repeatedly register and remove the agent', async () => {
    const round = [undefined, { kind: 'already_exists' }];
    expect(await applied([...round, ...round, ...round])).to.deep.include({ outcomes: [], end: 'failed' });
  });

  it('registers an agent that is declared disabled, and then disables it', async () => {
    const answers = [undefined, { kind: 'registered' }, { kind: 'changed' }];
    const { asked, outcomes } = await applied(answers, { enabled: false });
    expect(asked.slice(1)).to.deep.equal(['register 7', `change ${agentId} {"enabled":false}`]);
    expect(outcomes).to.deep.equal([{ kind: 'created' }]);
  });

  it('continues after a refused declaration, and stops if the service does not answer', async () => {
    const refusal = { kind: 'refused', errors: [{ field: 'max_task_ttl', sentence: 'Too long.' }] };
    const seen: Applied[] = [];
    const fake = registry([undefined, refusal, { ...agent, agentId: agentIdOf('second') }]);
    const failing = {
      ...fake,
      find: async (id: Parameters<AgentRegistry['find']>[0]) => {
        if (id === agentIdOf('third')) throw new AdminApiFailure('gone');
        return fake.find(id);
      },
    };
    const all = ['first', 'second', 'third', 'fourth'].map((id) => declared({ agentId: agentIdOf(id) }));
    const thrown: unknown = await applyDeclarations(
      { registry: failing, dryRun: false, applied: (each) => seen.push(each) },
      all,
    ).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(AdminApiFailure);
    expect(seen.map(({ agentId: id, outcome }) => [id, outcome.kind])).to.deep.equal([
      ['first', 'refused'],
      ['second', 'unchanged'],
    ]);
  });

  it('sets delegates_to of an agent that names a later one when all are registered, and reports it then', async () => {
    const [first, second] = [agentIdOf('first'), agentIdOf('second')];
    const both = [
      declared({ agentId: first, delegatesTo: [second] }),
      declared({ agentId: second, delegatesTo: [first] }),
    ];
    const run = async (answers: readonly unknown[], dryRun = false) => {
      const fake = registry(answers);
      const seen: (readonly unknown[])[] = [];
      const report = ({ agentId: id, outcome }: Applied) => {
        const fields = outcome.kind === 'changed' ? outcome.fields : [];
        seen.push([id, outcome.kind, ...fields]);
      };
      await applyDeclarations({ registry: fake, dryRun, applied: report }, both);
      return { asked: fake.asked, seen };
    };
    const stored = { ...agent, delegatesTo: undefined };
    const [newFirst, newSecond] = [
      { ...stored, agentId: first },
      { ...stored, agentId: second },
    ];
    const [made, set] = [{ kind: 'registered' }, { kind: 'changed' }];
    expect(await run([undefined, made, undefined, made, newFirst, set])).to.deep.equal({
      asked: [
        ...['find first', 'register 7', 'find second', 'register 8', 'find first'],
        'change first {"delegatesTo":["second"]}',
      ],
      seen: [
        ['second', 'created'],
        ['first', 'created'],
      ],
    });
    // Both are registered, with another name.
    const renamed = { ...newFirst, displayName: 'Other' };
    expect((await run([renamed, set, newSecond, set, newFirst, set])).seen).to.deep.equal([
      ['second', 'changed', 'delegates_to'],
      ['first', 'changed', 'display_name', 'delegates_to'],
    ]);
    const refusal = { kind: 'refused', errors: [] };
    expect((await run([newFirst, newSecond, refusal, newFirst, refusal])).seen).to.deep.equal([
      ['second', 'refused'],
      ['first', 'refused'],
    ]);
    expect((await run([undefined, refusal, newSecond, refusal])).seen.map(([id]) => id)).to.deep.equal([
      'first',
      'second',
    ]);
    const full = [
      { ...newFirst, delegatesTo: [second] },
      { ...newSecond, delegatesTo: [first] },
    ];
    expect((await run([...full, full[0]])).seen.map(([, kind]) => kind)).to.deep.equal(['unchanged', 'unchanged']);
    expect((await run([undefined, undefined], true)).seen).to.deep.equal([
      ['first', 'created'],
      ['second', 'created'],
    ]);
  });

  it('writes nothing in a dry run', async () => {
    expect(await applied([undefined], {}, true)).to.deep.equal({
      asked: [`find ${agentId}`],
      outcomes: [{ kind: 'created' }],
      end: 'done',
    });
    expect((await applied([agent], { displayName: 'Other' }, true)).asked).to.deep.equal([`find ${agentId}`]);
  });
});
