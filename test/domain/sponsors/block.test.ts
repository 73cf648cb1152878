import { expect } from 'chai';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { blockDenial, denialOf, isOutdated, type SponsorBlock } from '../../../domain/sponsors/block.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const aBlock = (source: SponsorBlock['source'], kind: SponsorBlock['kind']): SponsorBlock => ({
  sponsorKey: 'ada' as SponsorKey,
  source,
  kind,
  blockedAt: NOON,
});

describe('a block', () => {
  it('refuses a disabled person as disabled, and a deleted one as not found', () => {
    expect(blockDenial('disabled')).to.equal('sponsor_disabled');
    expect(blockDenial('deleted')).to.equal('sponsor_not_found');
  });

  it('gives the reason of a refusal if it was placed first, for each source', () => {
    const disabled = aBlock('scim', 'disabled');
    const deleted = aBlock('ssf', 'deleted');
    const operators = aBlock('admin', 'disabled');
    expect(denialOf([disabled, deleted, operators])).to.equal('sponsor_disabled');
    expect(denialOf([deleted, operators, disabled])).to.equal('sponsor_not_found');
    expect(denialOf([operators])).to.equal('sponsor_disabled');
  });

  it('is needed to refuse a person', () => {
    expect(denialOf([])).to.equal(undefined);
  });

  it('is not lifted by a return that was stated before it; within one second the return counts as later', () => {
    expect(isOutdated(plusSeconds(NOON, -1), NOON)).to.equal(true);
    expect(isOutdated(NOON, NOON)).to.equal(false);
    expect(isOutdated(plusSeconds(NOON, 1), NOON)).to.equal(false);
  });
});
