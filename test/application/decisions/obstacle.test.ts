import { expect } from 'chai';
import { findObstacle } from '../../../application/decisions/obstacle.ts';
import { aStatedBlock } from '../../support/decision-fixtures.ts';

const disabled = aStatedBlock({ source: 'admin', kind: 'disabled' });
const deleted = aStatedBlock({ source: 'scim', kind: 'deleted' });

describe('findObstacle', () => {
  for (const [title, facts, obstacle] of [
    ['no obstacle', {}, undefined],
    ['a change of the agent before a replay', { revision: 5, spent: [true] }, { kind: 'agent_changed' }],
    ['an older revision of the agent', { revision: 3 }, { kind: 'agent_changed' }],
    ['a deletion of the agent before a block', { revision: undefined, blocks: [deleted] }, { kind: 'agent_changed' }],
    ['a replay before a block', { spent: [true], blocks: [deleted] }, { kind: 'replayed' }],
    ['a replay of the second assertion', { spent: [false, true] }, { kind: 'replayed' }],
    ['the kind of the first block', { blocks: [disabled, deleted] }, { kind: 'sponsor_blocked', block: 'disabled' }],
    ['the kind of the only block', { blocks: [deleted] }, { kind: 'sponsor_blocked', block: 'deleted' }],
  ] as const) {
    it(`returns ${title}`, () => {
      expect(findObstacle(4, { revision: 4, spent: [false], blocks: [], ...facts })).to.deep.equal(obstacle);
    });
  }
});
