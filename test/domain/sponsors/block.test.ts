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

describe('the blocks of a person', () => {
  it('refuse a disabled person as disabled, and a deleted one as not found', () => {
    expect(blockDenial('disabled')).to.equal('sponsor_disabled');
    expect(blockDenial('deleted')).to.equal('sponsor_not_found');
  });

  it('refuse the person for the reason of the oldest block, from any source', () => {
    const disabled = aBlock('scim', 'disabled');
    const deleted = aBlock('ssf', 'deleted');
    const operators = aBlock('admin', 'disabled');
    expect(denialOf([disabled, deleted, operators])).to.equal('sponsor_disabled');
    expect(denialOf([deleted, operators, disabled])).to.equal('sponsor_not_found');
    expect(denialOf([operators])).to.equal('sponsor_disabled');
  });

  it('do not refuse a person who has none', () => {
    expect(denialOf([])).to.equal(undefined);
  });

  it('make an account-enabled outdated if it was stated before them, unless in the same second', () => {
    expect(isOutdated(plusSeconds(NOON, -1), NOON)).to.equal(true);
    expect(isOutdated(NOON, NOON)).to.equal(false);
    expect(isOutdated(plusSeconds(NOON, 1), NOON)).to.equal(false);
  });
});
