/** The hosts that may publish keys of agents, with `Service:AgentKeys:BlockPrivateNetworks` on and off. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { type Mandate, type RegisteredAgent, startMandate, withService } from '../support/mandate.ts';

const SETTING = 'Service:AgentKeys:BlockPrivateNetworks';

for (const database of databasesByLength) {
  describe(`Service:AgentKeys:BlockPrivateNetworks on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    /** The next answers of the resolver for `localhost`. The last one repeats. */
    let answers: string[][];
    before(async () => {
      mandate = await startMandate({
        database,
        settings: { [SETTING]: 'true', 'Service:Audit:Aggregation:Enabled': 'false' },
        network: {
          // The loopback server counts as public, so that a test can allow it.
          isPublic: (address) => address === '127.0.0.1',
          resolve: async () => {
            const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
            return addresses.map((address) => ({ address, family: 4 }));
          },
        },
      });
    });
    after(() => mandate.stop());

    async function agentAt(change: (uri: string) => string = (uri) => uri) {
      const agent = await mandate.agent();
      const uri = await mandate.keyServer.serve(agent.key.jwks);
      const jwks_uri = change(uri);
      const registered = await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { jwks_uri });
      expect(registered.status, registered.text).to.equal(200);
      return { agent, uri, asked: () => mandate.keyServer.requests(uri) };
    }
    const named = (uri: string) => uri.replace('127.0.0.1', 'localhost');

    async function expectRefused(of: Mandate, agent: RegisteredAgent): Promise<void> {
      const lines = await mandate.recorded(async () => {
        const answer = await of.post('/oauth2/token', agent.exchangeForm());
        expect(answer.status, answer.text).to.equal(503);
        expect(answer.body).to.deep.equal({
          error: 'temporarily_unavailable',
          error_description: "The agent's keys could not be fetched. Retry the request.",
        });
      });
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include({
        event: 'token.denied',
        decision: 'deny',
        reason: 'actor_keys_unavailable',
        agent_id: null,
        sponsor: null,
        task_id: null,
      });
    }

    async function expectServed(of: Mandate, agent: RegisteredAgent): Promise<void> {
      const answer = await of.post('/oauth2/token', agent.exchangeForm());
      expect(answer.status, answer.text).to.equal(200);
    }

    it('fetches keys from a host with only public addresses', async () => {
      answers = [['127.0.0.1', '127.0.0.1']];
      const { agent, asked } = await agentAt(named);
      await expectServed(mandate, agent);
      expect(asked()).to.equal(1);
    });

    it('refuses a host with a private address, and logs the agent and the reason', async () => {
      for (const addresses of [['10.0.0.7'], ['127.0.0.1', '10.0.0.7'], ['10.0.0.7', '127.0.0.1']]) {
        answers = [addresses];
        const { agent, uri, asked } = await agentAt(named);
        const from = mandate.log.lines.length;
        await expectRefused(mandate, agent);
        expect(asked()).to.equal(0);
        const [said = '{}'] = mandate.log.lines.slice(from).filter((line) => line.includes('There are no new keys.'));
        expect(JSON.parse(said)).to.include({
          level: 'warn',
          agent: agent.id,
          host: new URL(named(uri)).host,
          problem: 'The host has an address that is not public.',
        });
      }
    });

    it('resolves the host name again for every fetch', async () => {
      answers = [['10.0.0.7'], ['127.0.0.1'], ['10.0.0.7']];
      const { agent, asked } = await agentAt(named);
      await expectRefused(mandate, agent);
      mandate.clock.advance(2);
      await expectServed(mandate, agent);
      expect(asked()).to.equal(1);
    });

    it('refuses private addresses in a jwks_uri, and localhost', async () => {
      // This instance uses the system's resolver. A registration accepts only one notation of an IPv4 address.
      await withService(mandate.another({ [SETTING]: 'true' }), async (real) => {
        const hosts = ['127.0.0.1', '[::ffff:127.0.0.1]', '[0:0::1]', '169.254.169.254', '[64:ff9b::a9fe:a9fe]'];
        for (const host of [...hosts, 'localhost']) {
          const { agent, asked } = await agentAt((uri) => uri.replace('127.0.0.1', host));
          await expectRefused(real, agent);
          expect(asked(), host).to.equal(0);
        }
      });
    });

    it('fetches from private addresses while the setting is off, and fetches once for two agents', async () => {
      await withService(mandate.another({ [SETTING]: '' }), async (off) => {
        const { agent, uri, asked } = await agentAt();
        await expectServed(off, agent);
        const second = await mandate.agent({ jwks: undefined, jwks_uri: uri });
        const claims = { aud: mandate.issuer, exp: mandate.clock.seconds() + 60 };
        const actor_token = agent.key.signAssertion(second.id, claims);
        expect((await off.post('/oauth2/token', second.exchangeForm({ actor_token }))).status).to.equal(200);
        expect(asked()).to.equal(1);
      });
    });

    it('does not restrict the address of the identity provider', async () => {
      answers = [['10.0.0.7']];
      const ready = await mandate.get('/readyz', { accept: 'application/json' });
      expect(ready.status, ready.text).to.equal(200);
      await expectServed(mandate, await mandate.agent());
    });
  });
}
