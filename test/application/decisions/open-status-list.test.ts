import { expect } from 'chai';
import { openStatusList } from '../../../application/decisions/open-status-list.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const audience = 'https://jira.example';
const opening = { audience, listId: 'new', entries: 1024, at: NOON };
const inserted = { effect: 'insert_status_list', ...opening };
const closed = { effect: 'close_status_list', listId: 'current', at: NOON };

describe('Opening a status list', () => {
  for (const [title, current, verdict, effects] of [
    ['opens the first one of an audience', undefined, 'opened', [inserted]],
    ['writes nothing while the current one has room', { hasRoom: true, isOnly: true }, 'in_place', []],
    ['closes a full one, and opens another', { hasRoom: false, isOnly: true }, 'opened', [closed, inserted]],
    ['only closes a full one beside an open one', { hasRoom: false, isOnly: false }, 'in_place', [closed]],
  ] as const) {
    it(title, () => {
      const facts = { current: current && { listId: 'current', ...current } };
      expect(openStatusList.judge(opening, facts)).to.deep.equal({ verdict, effects });
    });
  }

  it('excludes other openings for the audience, and no exchange', () => {
    expect(lockNames(openStatusList.locks(opening))).to.deep.equal([`exclusive status_audience ${audience}`]);
  });
});
