import { expect } from 'chai';
import { parseSponsorKey } from '../../../domain/identifiers.ts';
import { userNameKey } from '../../../domain/signals/provisioned-user.ts';
import {
  type HeldStatement,
  heldStatement,
  type ProvisioningStatement,
  signalOf,
  statementsOf,
  statementsWithoutRoom,
} from '../../../domain/signals/provisioning-statement.ts';
import { NOON } from '../../support/domain-fixtures.ts';

function key(text: string) {
  const parsed = parseSponsorKey(text);
  if (parsed === undefined) throw new Error('not a sponsor key');
  return parsed;
}

/** `A+` is an active user of person A, `A-` an inactive one. The empty string means no user. */
function subject(text: string) {
  return text === '' ? undefined : { sponsorKey: key(text.slice(0, 1)), active: text.endsWith('+') };
}

/** The person, the state, and whether the statement is new. */
function inBrief({
  sponsorKey,
  state,
  isNew,
}: Pick<HeldStatement, 'sponsorKey' | 'isNew'> & { readonly state: string }): string {
  return `${sponsorKey} ${state}${isNew ? ' (new)' : ''}`;
}

describe('The statements of a SCIM write about people', () => {
  const cases: readonly (readonly [title: string, before: string, after: string, says: readonly string[]])[] = [
    ['a create as active', '', 'A+', ['A active']],
    ['a create as inactive', '', 'A-', ['A disabled (new)']],
    ['a repeated write of an active user', 'A+', 'A+', ['A active']],
    ['a repeated write of an inactive user', 'A-', 'A-', ['A disabled']],
    ['a deactivation', 'A+', 'A-', ['A disabled (new)']],
    ['a reactivation', 'A-', 'A+', ['A active (new)']],
    ['a removal of an active user', 'A+', '', ['A deleted (new)']],
    ['a removal of an inactive user', 'A-', '', ['A deleted (new)']],
    ['a deactivation with a change of person', 'A+', 'B-', ['A left_inactive (new)', 'B disabled (new)']],
    ['a change of person of an inactive user', 'A-', 'B-', ['A left_inactive', 'B disabled (new)']],
    ['a change of person of an active user', 'A+', 'B+', ['A left (new)', 'B active']],
    ['a reactivation with a change of person', 'A-', 'B+', ['A left (new)', 'B active']],
    ['a write without a user before and after', '', '', []],
  ];
  for (const [title, before, after, says] of cases) {
    it(`for ${title} are: ${says.join(', ') || 'none'}`, () => {
      expect(statementsOf(subject(before), subject(after)).map(inBrief)).to.deep.equal(says);
    });
  }

  it('have effects that depend on the other users of the same person', () => {
    const held = (state: ProvisioningStatement['state'], users: number, inactive: number) => {
      const holds = heldStatement({ sponsorKey: key('A'), state, isNew: true }, { users, inactive });
      return inBrief(holds);
    };
    for (const inactive of [0, 1, 2]) {
      expect(held('disabled', 2, inactive)).to.equal('A disabled (new)');
      expect(held('deleted', 2, inactive)).to.equal('A deleted (new)');
    }
    expect(held('active', 0, 0)).to.equal('A active (new)');
    expect(held('active', 2, 0)).to.equal('A active (new)');
    expect(held('active', 2, 1), 'one of them is inactive').to.equal('A still_inactive (new)');
    expect(held('left', 0, 0), 'no other user names that person').to.equal('A deleted (new)');
    expect(held('left', 2, 1)).to.equal('A disabled');
    expect(held('left', 2, 0)).to.equal('A active');
    expect(held('left_inactive', 0, 0), 'no user has that name').to.equal('A deleted (new)');
    expect(held('left_inactive', 2, 1)).to.equal('A disabled (new)');
    expect(held('left_inactive', 2, 0), 'refused all the same').to.equal('A disabled (new)');
  });

  it('are only deactivations, and not new, if the user exceeds the maximum', () => {
    const without = (after: string) => statementsWithoutRoom(statementsOf(undefined, subject(after))).map(inBrief);
    expect(without('A-')).to.deep.equal(['A disabled']);
    expect(without('A+')).to.deep.equal([]);
  });

  it('are recorded under the sponsor key with their reason', () => {
    const reasons = {
      disabled: 'scim_deactivated',
      deleted: 'scim_deleted',
      active: 'scim_reactivated',
      still_inactive: 'scim_still_inactive',
    } as const;
    for (const state of ['disabled', 'deleted', 'active', 'still_inactive'] as const) {
      expect(signalOf({ sponsorKey: key('A'), state, isNew: true }, NOON)).to.deep.equal({
        at: NOON,
        event: 'sponsor.signal',
        sponsor: 'A',
        decision: 'allow',
        reason: reasons[state],
      });
    }
  });
});

describe('User names', () => {
  it('are compared exactly after toLowerCase without a locale', () => {
    for (const [one, other] of [
      ['Ada@Example.org', 'ADA@eXAMPLE.ORG'],
      ['É', 'é'],
      ['ŁUKASZ', 'łukasz'],
      ['I', 'i'],
      ['\u1e9e', 'ß'],
      ['ΟΔΟΣ', 'οδος'],
    ] as const) {
      expect(userNameKey(one), one).to.equal(userNameKey(other));
    }
    for (const [one, other] of [
      ['ada', 'ada '],
      ['ada', 'adá'],
      ['ada', 'аda'],
      ['a_b', 'a-b'],
      // Each of the next two pairs is equal in upper case, but not in lower case.
      ['straße', 'STRASSE'],
      ['οδοσ', 'οδος'],
      // Two Unicode forms of one letter.
      ['é', 'e\u0301'],
      ['I', 'ı'],
    ] as const) {
      expect(userNameKey(one), one).not.to.equal(userNameKey(other));
    }
  });
});
