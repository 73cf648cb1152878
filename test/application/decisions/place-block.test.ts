import { expect } from 'chai';
import { ask } from '../../../application/decisions/fact.ts';
import { placeBlock } from '../../../application/decisions/place-block.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import type { SponsorBlock, StatedBlock } from '../../../domain/sponsors/block.ts';
import {
  ADA,
  aStatedBlock,
  endsOf,
  goneOf,
  liveTasks,
  lockNames,
  NO_TASKS,
  revoked,
  SOURCES,
  TASKS,
} from '../../support/decision-fixtures.ts';

import { NOON } from '../../support/domain-fixtures.ts';

const at = instantFromMicros(NOON + 90_000_007);
const reason = 'ssf_account_purged';
const [task, child] = TASKS;
const live = liveTasks([task], [child]);
const ended = revoked(at, [task, reason], [child, 'parent_revoked']);

const aBlock = (source: SponsorBlock['source'], blockedAt = at): SponsorBlock => ({
  sponsorKey: ADA,
  source,
  kind: 'deleted',
  blockedAt,
});
const withoutStatement = ({ statedAt, ...block }: StatedBlock): SponsorBlock => block;
const blockRecord = (source: SponsorBlock['source']): LedgerEntry => ({
  at,
  event: 'sponsor.blocked',
  sponsor: ADA,
  decision: 'allow',
  reason: source === 'self' ? 'sponsor_paused' : 'sponsor_blocked',
});

describe('placeBlock', () => {
  const input = { block: aBlock('admin'), reason } as const;

  it('locks the person exclusively', () => {
    expect(lockNames(placeBlock.locks(input))).to.deep.equal([`exclusive sponsor ${ADA}`]);
  });

  it('reads the blocks of the person, and the tasks that are live when the block is placed', () => {
    expect(placeBlock.asks(input)).to.deep.equal({
      blocks: ask('blocks', ADA),
      live: ask('live_tasks', { selection: { kind: 'sponsor', sponsorKey: ADA }, at }),
    });
  });

  for (const source of SOURCES) {
    it(`places a block of ${source}, and records the block before the tasks that it ends`, () => {
      const block = aBlock(source);
      expect(placeBlock.judge({ block, reason }, { blocks: [], live })).to.deep.equal({
        verdict: { blocks: [block], revokedTasks: 2 },
        effects: [{ effect: 'put_block', ...block, statedAt: at }, ...endsOf(ADA, reason, ended, blockRecord(source))],
      });
    });

    it(`keeps an existing block of ${source} without recording it again, and still ends the tasks`, () => {
      const existing = aStatedBlock({ source, kind: 'disabled' });
      expect(placeBlock.judge({ block: aBlock(source), reason }, { blocks: [existing], live })).to.deep.equal({
        verdict: { blocks: [withoutStatement(existing)], revokedTasks: 2 },
        effects: endsOf(ADA, reason, ended),
      });
    });

    for (const other of SOURCES.filter((one) => one !== source)) {
      it(`places a block of ${source} in addition to one of ${other}, and records it`, () => {
        const [block, existing] = [aBlock(source), aStatedBlock({ source: other })];
        expect(placeBlock.judge({ block, reason }, { blocks: [existing], live: NO_TASKS })).to.deep.equal({
          verdict: { blocks: [withoutStatement(existing), block], revokedTasks: 0 },
          effects: [
            { effect: 'put_block', ...block, statedAt: at },
            goneOf(ADA, reason),
            { effect: 'append', entries: [blockRecord(source)] },
          ],
        });
      });
    }
  }

  it('records nothing if the block exists and no task is live, and ends the authorizations', () => {
    const blocks = [aStatedBlock({ source: 'scim' }), aStatedBlock({ source: 'admin' })];
    const { verdict, effects } = placeBlock.judge(input, { blocks, live: NO_TASKS });
    expect(verdict).to.deep.equal({ blocks: blocks.map(withoutStatement), revokedTasks: 0 });
    expect(effects).to.deep.equal([goneOf(ADA, reason)]);
  });

  for (const [title, blockedAt, order] of [
    ['before', instantFromMicros(NOON + 10), ['scim', 'ssf']],
    ['after', instantFromMicros(NOON + 12), ['ssf', 'scim']],
    ['at the same instant as', instantFromMicros(NOON + 11), ['scim', 'ssf']],
  ] as const) {
    it(`returns blocks by time, then by source, if the new one was placed ${title} the existing one`, () => {
      const facts = { blocks: [aStatedBlock()], live: NO_TASKS };
      const { verdict } = placeBlock.judge({ block: aBlock('scim', blockedAt), reason }, facts);
      expect(verdict.blocks.map(({ source }) => source)).to.deep.equal(order);
    });
  }
});
