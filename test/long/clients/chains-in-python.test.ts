/** A chain of agents, read with PyJWT as docs/sub-agents.md says. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask } from '../../support/delegation.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { languages } from '../../support/other-languages/languages.ts';

const program = fileURLToPath(new URL('../../support/other-languages/chain-with-pyjwt.py', import.meta.url));
const { has, run } = languages.py;

describe('A chain of agents in Python', function () {
  this.timeout(60_000);
  let mandate: Mandate;
  let agents: readonly RegisteredAgent[];
  let at: ReturnType<typeof delegationAt>;
  before(async () => {
    const settings = { 'Service:Delegation:Enabled': 'true', 'Service:Delegation:MaxDepth': '4' };
    mandate = await startMandate({ database: sqliteFile, issuer: 'own-address', settings });
    at = delegationAt(mandate);
    const deep = { max_delegation_depth: 4, high_risk_audiences: [] };
    let below: RegisteredAgent | undefined;
    const made: RegisteredAgent[] = [];
    for (let nth = 0; nth < 4; nth += 1) {
      below = await mandate.agent({ ...deep, ...(below && { delegates_to: [below.id] }) });
      made.unshift(below);
    }
    agents = made;
  });
  after(() => mandate.stop());

  if (!has(['jwt'])) {
    it("is skipped: Debian's package python3-jwt is not installed", function () {
      this.skip();
    });
    return;
  }

  const read = async (token: string) => {
    const { code, output, errors } = await run(program, { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA }, token);
    expect([code, errors]).to.deep.equal([0, '']);
    return output.trim();
  };

  it('is read by PyJWT, the caller first, up to the accepted depth; an offer and a longer chain are refused', async () => {
    const [root, lead, leaf, fourth] = agents as [RegisteredAgent, RegisteredAgent, RegisteredAgent, RegisteredAgent];
    const first: HeldTask = heldTask(await root.exchange());
    const second = await at.handOver(root, lead, first);
    const third = await at.handOver(lead, leaf, second);
    const last = await at.handOver(leaf, fourth, third);
    const names = [leaf, lead, root].map(({ id }) => `agent:${id}`);
    expect(await read(first.token)).to.equal(`ada ${names[2]}`);
    expect(await read(third.token)).to.equal(`ada ${names.join(' ')}`);
    expect(await read(last.token)).to.equal('refused');
    expect(await read(await at.offer(root, lead, first.grant))).to.equal('refused');
  });

  it('is checked by the lines that docs/sub-agents.md shows', () => {
    const source = readFileSync(program, 'utf8');
    const page = readFileSync('docs/sub-agents.md', 'utf8');
    const [, shown = ''] = /^```python\n(.*?)^```$/ms.exec(page) ?? [];
    expect(shown).not.to.equal('');
    expect(source).to.include(shown);
  });
});
