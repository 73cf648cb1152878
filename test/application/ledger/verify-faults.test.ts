import { expect } from 'chai';
import { formatMark } from '../../../domain/ledger/checkpoint.ts';
import {
  faultOf,
  type LedgerFixture,
  ledgerFixture,
  newKeys,
  OTHER_ROOT,
  sealSome,
} from '../../support/ledger-fixture.ts';

describe('verifying the ledger', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

  describe('finds and names the fault:', () => {
    const faults: readonly (readonly [string, string, object])[] = [
      [
        'a deleted record',
        'delete from ledger where seq = 6',
        { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 3 },
      ],
      [
        'a record inserted into a gap',
        "insert into ledger (seq, ts, event, decision) values (8, 1, 'token.issued', 'allow')",
        { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 5 },
      ],
      [
        'a record below the first number',
        "insert into ledger (seq, ts, event, decision) values (0, 1, 'token.issued', 'allow')",
        { kind: 'record_outside', seq: 0 },
      ],
      [
        'a record far below it',
        "insert into ledger (seq, ts, event, decision) values (-9000000000000, 1, 'token.issued', 'allow')",
        { kind: 'record_outside', seq: -9_000_000_000_000 },
      ],
      [
        'a replaced record',
        "delete from ledger where seq = 6; insert into ledger (seq, ts, event, decision) values (8, 1, 'x', 'allow')",
        { kind: 'root_mismatch', checkpointId: 2 },
      ],
      [
        'two swapped records',
        'update ledger set seq = -1 where seq = 6; update ledger set seq = 6 where seq = 7; update ledger set seq = 7 where seq = -1',
        { kind: 'root_mismatch', checkpointId: 2 },
      ],
      [
        'a record moved to the next checkpoint',
        'update ledger set seq = 14 where seq = 11',
        { kind: 'tree_size', checkpointId: 2, sealed: 4, held: 3 },
      ],
      [
        'a removed checkpoint',
        'delete from checkpoints where checkpoint_id = 2',
        { kind: 'id_not_contiguous', checkpointId: 3, expectedId: 2 },
      ],
      [
        'a removed first checkpoint',
        'delete from checkpoints where checkpoint_id = 1',
        { kind: 'id_not_contiguous', checkpointId: 2, expectedId: 1 },
      ],
      [
        'a checkpoint before the first',
        'insert into checkpoints select -4, first_seq, last_seq, tree_size, root_hash, prev_checkpoint_hash, closed_at, kid, signature from checkpoints where checkpoint_id = 1',
        { kind: 'id_not_contiguous', checkpointId: -4, expectedId: 1 },
      ],
      [
        'a shortened range at the end of a page',
        'update checkpoints set last_seq = 1 where checkpoint_id = 4',
        { kind: 'range_inverted', checkpointId: 4 },
      ],
      [
        'a foreign signature',
        'update checkpoints set signature = (select signature from checkpoints where checkpoint_id = 1) where checkpoint_id = 3',
        { kind: 'invalid_signature', checkpointId: 3 },
      ],
      [
        'an unknown key',
        "update checkpoints set kid = 'nobody' where checkpoint_id = 3",
        { kind: 'unknown_key', checkpointId: 3 },
      ],
    ];
    for (const [what, edit, fault] of faults) {
      it(what, async () => {
        await sealSome(fixture, 4);
        fixture.withoutTriggers.exec(edit);
        const outcome = await fixture.verify();
        expect(faultOf(outcome)).to.deep.equal(fault);
      });
    }

    it('checkpoints that were sealed again and linked with another key', async () => {
      await sealSome(fixture, 3);
      fixture.withoutTriggers.exec(
        "delete from checkpoints where checkpoint_id > 1; update ledger set reason = 'x' where seq = 9",
      );
      const stranger = (await newKeys()).checkpoints;
      await fixture.seal({ signer: { ...stranger, kid: fixture.keys.checkpoints.kid } });
      expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'invalid_signature', checkpointId: 2 });
    });

    it('a signed link to another than the previous checkpoint', async () => {
      await sealSome(fixture, 2);
      await fixture.append(2);
      const { checkpoints } = fixture.storage;
      const unsealed = await checkpoints.unsealed();
      const previous = unsealed?.previous && { ...unsealed.previous, rootHash: OTHER_ROOT };
      await fixture.seal({
        checkpoints: { ...checkpoints, unsealed: async () => unsealed && { ...unsealed, previous } },
        chain: {
          examine: async () => ({ kind: 'trusted', newest: previous }),
          lookForTwice: async () => undefined,
          sealed: () => undefined,
          foundTwice: () => undefined,
        },
      });
      expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'link_broken', checkpointId: 3 });
    });

    it('the first of several faults, and the verified part before it', async () => {
      const [first] = await sealSome(fixture, 4);
      fixture.withoutTriggers.exec(
        "update ledger set reason = 'x' where seq in (7, 20); update checkpoints set kid = 'k' where checkpoint_id = 3",
      );
      const outcome = await fixture.verify();
      expect(faultOf(outcome)).to.deep.equal({ kind: 'root_mismatch', checkpointId: 2 });
      expect(outcome.lastMark && formatMark(outcome.lastMark)).to.equal(`1:${first?.rootHash}`);
      expect(outcome.counts).to.deep.equal({ checkpoints: 1, records: 3, archived: 0, unsealed: 0 });
    });
  });
});
