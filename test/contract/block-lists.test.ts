import { expect } from 'chai';
import type { BlocksQuestion } from '../../application/ports/sponsors.ts';
import { parseSponsorKey, type SponsorKey } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { blockSources, type SponsorBlock } from '../../domain/sponsors/block.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry } from './storage-fixtures.ts';

onEveryDatabase('the list of blocks', ({ storage }) => {
  const list = (question: Partial<BlocksQuestion> = {}) =>
    storage().sponsors.list({ after: undefined, limit: 1000, ...question });
  const keyOf = (name: string) => parseSponsorKey(name) as SponsorKey;
  const place = async (block: SponsorBlock) => {
    await storage().sponsors.block(block, 'sponsor_blocked');
    return block;
  };
  const placed: SponsorBlock[] = [];

  before(async () => {
    // Several people have one block or more, and several blocks have one time.
    for (let nth = 0; nth < 30; nth++) {
      const source = blockSources[nth % blockSources.length] ?? 'admin';
      const kind = nth % 2 === 0 ? 'deleted' : 'disabled';
      const blockedAt = plusSeconds(NOON, Math.floor(nth / 8));
      placed.push(await place({ sponsorKey: keyOf(`é-${nth % 7}-😀`), source, kind, blockedAt }));
    }
  });

  const inOrder = (blocks: readonly SponsorBlock[]) =>
    blocks.toSorted(
      (one, other) =>
        other.blockedAt - one.blockedAt ||
        Buffer.compare(Buffer.from(other.sponsorKey), Buffer.from(one.sponsorKey)) ||
        (other.source > one.source ? 1 : -1),
    );
  // A source's second block of a person changes nothing.
  const stored = () =>
    inOrder(
      placed.filter(
        (block, nth) =>
          placed.findIndex(({ sponsorKey, source }) => sponsorKey === block.sponsorKey && source === block.source) ===
          nth,
      ),
    );

  for (const source of [undefined, ...blockSources]) {
    it(`has the blocks of ${source ?? 'every source'}, newest first, in one page or in many`, async () => {
      const expected = stored().filter((block) => source === undefined || block.source === source);
      expect(await list({ source })).to.deep.equal(expected);
      for (const limit of [1, 3]) {
        const paged: SponsorBlock[] = [];
        for (let page = await list({ source, limit }); page.length > 0; ) {
          paged.push(...page);
          page = await list({ source, limit, after: paged.at(-1) });
        }
        expect(paged).to.deep.equal(expected);
      }
    });
  }

  it('is counted by source, and by people', async () => {
    const blocks = stored();
    const bySource: Record<string, number> = {};
    for (const { source } of blocks) bySource[source] = (bySource[source] ?? 0) + 1;
    const people = new Set(blocks.map(({ sponsorKey }) => sponsorKey)).size;
    expect(await storage().sponsors.countBlocks(blocks.length)).to.deep.equal({ people, bySource });
    const { bySource: some } = await storage().sponsors.countBlocks(blocks.length - 1);
    expect(Object.values(some).reduce((sum, count) => sum + count, 0)).to.equal(blocks.length - 1);
  });

  it('neither skips nor repeats a block if others are placed and lifted between two pages', async () => {
    const before = await list();
    const first = await list({ limit: 5 });
    const last = first.at(-1);
    if (last === undefined) throw new Error('the page is empty');
    const newest = {
      sponsorKey: keyOf('new'),
      source: 'scim',
      kind: 'disabled',
      blockedAt: plusSeconds(NOON, 99),
    } as const;
    await place(newest);
    const { sponsorKey, source } = last;
    const refusal = { ...anEntry('sponsor.unblocked'), decision: 'deny', reason: 'sponsor_block_not_owned' } as const;
    await storage().sponsors.lift(sponsorKey, source, anEntry('sponsor.unblocked'), refusal);
    expect([...first, ...(await list({ after: last }))]).to.deep.equal(before);
  });
});
