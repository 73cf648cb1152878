/** Postgres or SQLite would alter a NUL or a lone surrogate. No decision stores such text, and no message repeats it. */

import { expect } from 'chai';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { anAgent } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { allRows } from './failing-writes.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anAssertion, anEntry, anOpening, aRefusal, newAgentId, registeredAgent } from './storage-fixtures.ts';

const agent = anAgent({ agentId: newAgentId(), revision: 1 });
const inRecord = (field: keyof LedgerEntry) => (storage: Storage, text: string) =>
  storage.ledger.append(anEntry('admin.denied', { [field]: text }));

const TEXTS: Readonly<Record<string, (storage: Storage, text: string) => Promise<unknown>>> = {
  'sponsor of a task': ({ tasks }, sponsor) => tasks.open(anOpening(agent, { sponsor })),
  'session_id of a task': ({ tasks }, sessionId) => tasks.open(anOpening(agent, { sessionId })),
  'audience of a task': ({ tasks }, audience) => tasks.open(anOpening(agent, { audience })),
  'jti of an assertion': ({ tasks }, jti) =>
    tasks.open({ ...anOpening(agent), assertion: anAssertion(agent.agentId, jti) }),
  'audience of the record of a task': ({ tasks }, audience) =>
    tasks.open({ ...anOpening(agent), entry: anEntry('token.issued', { audience }) }),
  'display_name of an agent': ({ agents }, displayName) =>
    agents.register(
      anAgent({ agentId: newAgentId(), revision: 1, displayName }),
      anEntry('agent.registered'),
      aRefusal('agent_already_exists'),
    ),
  'sponsor of a record': inRecord('sponsor'),
  'audience of a record': inRecord('audience'),
  'scope of a record': inRecord('scope'),
  'reason of a record': inRecord('reason'),
  'detail of a record': inRecord('detail'),
};

onEveryDatabase('text that the database would alter', ({ storage, outside }) => {
  before(() => registeredAgent(storage(), agent));

  for (const [field, write] of Object.entries(TEXTS)) {
    it(`is refused, and nothing is stored: ${field}`, async () => {
      const sql = await outside();
      const before = await allRows(sql);
      for (const text of ['a\u0000b', '\ud83d', 'x\udc00']) {
        const thrown = await thrownBy(write(storage(), text));
        expect(thrown).to.be.instanceOf(RangeError);
        // Postgres takes the locks first, and then names the lock.
        expect(String(thrown)).to.match(new RegExp(`${field.split(' ')[0]}|subject|session|assertion`));
        expect(String(thrown)).not.to.include(text);
      }
      expect(await allRows(sql)).to.deep.equal(before);
    });
  }
});
