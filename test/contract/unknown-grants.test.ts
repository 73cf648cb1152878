/** A plain read that does not find a grant proves nothing (docs/decisions/0027-a-switch-that-finds-nothing.md). */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { agentKeys } from '../../adapters/jose/agent-keys.ts';
import { strangersWait } from '../../adapters/jose/key-waits.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { recordDenials } from '../../application/ledger/record-denial.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { revokeToken } from '../../application/token/revoke.ts';
import { plusSeconds, toSeconds } from '../../domain/instant.ts';
import { type AgentKey, makeAgentKey } from '../support/agents/agent-key.ts';
import { capturedLog } from '../support/captured-log.ts';
import { newKeys } from '../support/ledger-fixture.ts';
import { agreeing, movedClock } from '../support/moved-clock.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anOpening, recordedBy, registeredAgent } from './storage-fixtures.ts';

const ISSUER = 'https://mandate.example';
const GRANT = 'task_grant_a-secret';

onEveryDatabase('the revocation of a grant that a plain read does not find', ({ storage }) => {
  const clock = movedClock();
  let key: AgentKey;
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  before(async () => {
    [key, signingKeys] = await Promise.all([makeAgentKey(), newKeys()]);
  });

  const registered = () => registeredAgent(storage(), { keys: { kind: 'inline', jwks: key.jwks as never } });

  it('is refused and recorded only if the deciding transaction does not find the grant of this agent either', async () => {
    const [owner, other] = [await registered(), await registered()];
    const times = { createdAt: clock.now(), expiresAt: plusSeconds(clock.now(), 600) };
    await storage().tasks.open({ ...anOpening(owner, times), grantHash: sha256(GRANT) });
    const seconds = toSeconds(clock.now());
    const assertions = [owner, other].map(({ agentId }) =>
      key.signAssertion(agentId, { aud: ISSUER, jti: randomUUID(), iat: seconds, exp: seconds + 60 }),
    );
    let isOutdated = true;
    const { findGrant } = storage().tasks;
    const service = {
      agents: storage().agents,
      decisions: storage(),
      clock,
      sharedTime: agreeing(clock),
      signingKeys,
      agentKeys: agentKeys(httpNetwork(), clock, capturedLog()).at(strangersWait()),
      audiences: [ISSUER],
      issuer: ISSUER,
      tasks: {
        findGrant: async (...asked: Parameters<typeof findGrant>) => (isOutdated ? undefined : findGrant(...asked)),
      },
      digest: sha256,
      measurements: undefined,
    };
    const exit = recordDenials({ decisions: storage(), anonymous: { record: async () => undefined }, clock });
    const revoke = (nth: number, token: string) =>
      exit(() => revokeToken(service, { token, clientAssertion: assertions[nth], clientId: undefined }));

    const records = await recordedBy(storage(), async () => {
      const outcome = await revoke(0, GRANT).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(StorageUnavailable);
      expect(await revoke(1, GRANT)).to.have.nested.property('denial.reason', 'revocation_not_owner');
    });
    expect(records.map(({ agentId, reason }) => [agentId, reason])).to.deep.equal([
      [other.agentId, 'revocation_not_owner'],
    ]);
    isOutdated = false;
    // The assertion was not used up.
    expect(await revoke(0, GRANT)).to.deep.equal({ kind: 'allowed', value: 'task_revoked' });
  });
});
