import { expect } from 'chai';
import { withoutEmpty } from '../../../../adapters/http/console/parts/filters.ts';
import { ledgerScreen } from '../../../../adapters/http/console/screens/ledger.ts';
import { stopScreen } from '../../../../adapters/http/console/screens/stop.ts';

const FIELDS = ['from', 'agent_id'];

describe('The empty fields of a search', () => {
  for (const [given, kept] of [
    ['/ledger', '/ledger'],
    ['/ledger?from=&agent_id=a', '/ledger?agent_id=a'],
    ['/ledger?from&agent_id=', '/ledger?'],
    ['/ledger?from=&from=2026', '/ledger?from=2026'],
    ['/ledger?other=&cursor=&from=', '/ledger?other=&cursor='],
    ['/ledger?from=%', '/ledger?from=%'],
    ['/ledger?agent_id=a?b=&from=', '/ledger?agent_id=a?b='],
  ] as const) {
    it(`do not filter: ${given}`, () => {
      expect(withoutEmpty(given, FIELDS)).to.equal(kept);
    });
  }

  for (const [screen, show] of [
    ['Ledger', ledgerScreen.show],
    ['Stop', stopScreen.show],
  ] as const) {
    it(`are not excused on ${screen} if the search has no such field`, async () => {
      const shown = await show(
        { now: 0, overview: {}, admin: { listTasks: async () => ({}) } } as never,
        { originalUrl: '/?sponsr=' } as never,
      );
      expect(shown).to.include({ status: 400, reason: 'invalid_fields' });
      expect(`${shown.body}`).to.include('sponsr');
    });
  }
});
