/** The seals of the ledger (specification "Checkpoint", "Ledger and seal"): append-only like it. */

import type { Migration } from '../../rows/migrations.ts';

const REFUSE = "begin select raise(abort, 'the checkpoints are append-only'); end";

export const checkpoints: Migration = {
  name: '0005-checkpoints',
  statements: [
    `create table checkpoints (
      checkpoint_id integer primary key,
      first_seq integer not null,
      last_seq integer not null,
      tree_size integer not null,
      root_hash text not null,
      prev_checkpoint_hash text,
      closed_at integer not null,
      kid text not null,
      signature text not null
    ) strict`,
    // Ranges have no gap between them: the first one that ends at a number or after it is the one that seals it.
    `create index checkpoints_by_range on checkpoints (last_seq)`,
    `create trigger checkpoints_no_update before update on checkpoints ${REFUSE}`,
    `create trigger checkpoints_no_delete before delete on checkpoints ${REFUSE}`,
    `create trigger checkpoints_no_replace before insert on checkpoints
      when exists (select 1 from checkpoints where checkpoint_id = new.checkpoint_id) ${REFUSE}`,
  ],
};
