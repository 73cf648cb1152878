import { expect } from 'chai';
import { compareDeclarations } from '../../../application/admin/compare-declarations.ts';
import { CERTAIN_RULES, type Declaration, draftOf } from '../../../domain/agents/declaration.ts';
import { judgeRegistration, type RegistrationRules } from '../../../domain/agents/registration.ts';
import { AUTHORIZE_FIELDS, DELEGATION_FIELDS, MAY_ACT_FIELDS } from '../../../domain/agents/registration-draft.ts';
import { anAgent } from '../../support/domain-fixtures.ts';
import { RULES } from '../../support/registrations.ts';

const OTHERS = [...AUTHORIZE_FIELDS, ...DELEGATION_FIELDS];
const ALL = [...MAY_ACT_FIELDS, ...OTHERS];

describe('compareDeclarations', () => {
  const stored = anAgent({ mayActNames: [{ sub: 'stored', clientId: undefined }] });
  const { keys: _, ...fields } = stored;
  const declared: Declaration = { ...fields, jwksUri: 'https://keys.example/jwks.json' };

  async function compare(mayActNames: Declaration['mayActNames'], knowsMayActNames: boolean) {
    const declaration: Declaration = { ...declared, mayActNames };
    const verdict = judgeRegistration(draftOf(declaration), CERTAIN_RULES);
    if (verdict.kind === 'invalid') throw new Error(JSON.stringify(verdict.errors));
    const judged = [{ declaration, registration: verdict.registration }];
    const agents = { find: async () => stored };
    const rules: RegistrationRules = { ...RULES, knows: new Set(knowsMayActNames ? ALL : OTHERS) };
    const [compared] = await compareDeclarations({ agents, agentKeys: { isUsable: async () => true }, rules }, judged);
    return [compared?.fields, compared?.stored?.mayActNames, compared?.errors.map(({ field }) => field)];
  }

  it('shows no stored delegates_to, and says that the service would refuse a declared one, without the setting', async () => {
    const verdict = judgeRegistration(draftOf(declared), CERTAIN_RULES);
    if (verdict.kind === 'invalid') throw new Error('the declaration is invalid');
    const rules: RegistrationRules = { ...RULES, knows: new Set([...MAY_ACT_FIELDS, ...AUTHORIZE_FIELDS]) };
    const service = { agents: { find: async () => stored }, agentKeys: { isUsable: async () => true }, rules };
    const [compared] = await compareDeclarations(service, [
      { declaration: declared, registration: verdict.registration },
    ]);
    expect([compared?.fields, compared?.stored?.delegatesTo]).to.deep.equal([['delegates_to'], undefined]);
    expect(compared?.errors).to.deep.equal([{ field: 'delegates_to', sentence: 'Is not a field of a registration.' }]);
  });

  it('says that the service would refuse an agent in delegates_to that neither is registered nor is in the file', async () => {
    const of = async (delegatesTo: Declaration['delegatesTo'], registered: boolean) => {
      const declaration: Declaration = { ...declared, delegatesTo };
      const verdict = judgeRegistration(draftOf(declaration), CERTAIN_RULES);
      const other = judgeRegistration(draftOf({ ...declared, agentId: 'in-file', delegatesTo: [] }), CERTAIN_RULES);
      if (verdict.kind === 'invalid' || other.kind === 'invalid') throw new Error('the declaration is invalid');
      const judged = [
        { declaration, registration: verdict.registration },
        { declaration: { ...declared, agentId: 'in-file', delegatesTo: [] }, registration: other.registration },
      ];
      const found: readonly string[] = registered ? [stored.agentId, 'wiki-reader'] : ['wiki-reader'];
      const agents = { find: async (agentId: string) => (found.includes(agentId) ? stored : undefined) };
      const rules: RegistrationRules = { ...RULES, knows: new Set(ALL) };
      const service = { agents, agentKeys: { isUsable: async () => true }, rules };
      const [compared] = await compareDeclarations(service, judged);
      return compared?.errors;
    };
    const sentence = 'Item 3 must be the agent_id of a registered agent.';
    for (const registered of [true, false]) {
      expect(await of(['wiki-reader', 'in-file', 'absent'], registered)).to.deep.equal([
        { field: 'delegates_to', sentence },
      ]);
      expect(await of(['wiki-reader', 'in-file', 'jira-triage'], registered)).to.deep.equal([]);
    }
  });

  it('compares the names at the provider', async () => {
    expect(await compare(stored.mayActNames, true)).to.deep.equal([[], stored.mayActNames, []]);
    const others = [{ sub: 'declared', clientId: undefined }];
    expect(await compare(others, true)).to.deep.equal([['may_act_names'], stored.mayActNames, []]);
  });

  it('shows no stored names, and says that the service would refuse declared ones, while it ignores may_act', async () => {
    expect(await compare(stored.mayActNames, false)).to.deep.equal([['may_act_names'], undefined, ['may_act_names']]);
    expect(await compare(undefined, false)).to.deep.equal([[], undefined, []]);
  });
});
