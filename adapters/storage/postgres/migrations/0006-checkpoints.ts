/** The seals of the ledger (specification "Checkpoint", "Ledger and seal"): append-only like it. */

import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';
import { SET_BACK } from '../errors.ts';
import { LOCK } from '../locks.ts';

/** Two hashes, a signature and the name of a key are some four hundred. */
const MAX_TEXT_BYTES = 4096;

export const checkpoints: Migration = {
  name: '0006-checkpoints',
  statements: [
    `create table checkpoints (
      checkpoint_id integer primary key,
      first_seq bigint not null,
      last_seq bigint not null,
      tree_size bigint not null,
      root_hash text not null,
      prev_checkpoint_hash text,
      closed_at timestamptz not null,
      kid text not null,
      signature text not null
    )`,
    // Ranges have no gap between them: the first one that ends at a number or after it is the one that seals it.
    `create index checkpoints_by_range on checkpoints (last_seq)`,
    `create trigger checkpoints_append_only before update or delete or truncate on checkpoints
      for each statement execute function refuse_ledger_change()`,
    `revoke update, delete, truncate on checkpoints from public, current_user`,

    // The highest number that was ever taken, unless the sequence was set back: then there are higher ones.
    `create function last_number() returns bigint language sql stable as $$
      select case when is_called then last_value else last_value - 1 end from ledger_seq
    $$`,

    // The newest checkpoint and the newest record after it. The fence is taken in one statement and what it guards
    // read in later ones: whoever held it has committed by then, or burnt its number, and whoever takes it afterwards
    // gets a higher one. Appends that come meanwhile wait behind this, so it gives up long before they would.
    `create function unsealed(out previous checkpoints, out highest bigint) language plpgsql
    ${BY_INDEX} set lock_timeout = '1s' as $$
    begin
      perform pg_advisory_xact_lock(${LOCK.ledgerFence}, 0);
      select * into previous from checkpoints order by checkpoint_id desc limit 1;
      select max(seq) into highest from ledger where seq > coalesce(previous.last_seq, 0);
      -- Numbers are about to be there twice, or are already: that must not be signed.
      if last_number() < greatest(previous.last_seq, highest) then
        raise exception 'ledger_seq was set back below numbers that are taken' using errcode = '${SET_BACK}';
      end if;
    end $$`,

    // Adds a checkpoint if it is the successor of the newest one, and answers whether it is. Of two that seal at once
    // the second waits for the first to commit, and then is no successor any more. Runs as its owner, since nobody
    // else may insert: the role that serves can neither leave a gap nor seal what has not happened yet.
    `create function add_checkpoint(
      p_checkpoint_id integer, p_first_seq bigint, p_last_seq bigint, p_tree_size bigint, p_root_hash text,
      p_prev_checkpoint_hash text, p_closed_at timestamptz, p_kid text, p_signature text
    ) returns boolean language plpgsql security definer ${BY_INDEX} as $$
    declare
      v_newest checkpoints;
    begin
      perform pg_advisory_xact_lock(${LOCK.sealing}, 0);
      select * into v_newest from checkpoints order by checkpoint_id desc limit 1;
      if p_checkpoint_id is distinct from coalesce(v_newest.checkpoint_id, 0) + 1
        or p_first_seq is distinct from coalesce(v_newest.last_seq, 0) + 1
      then
        return false;
      end if;
      if p_last_seq < p_first_seq
        or (p_prev_checkpoint_hash is null) <> (p_checkpoint_id = 1)
        or not exists (select from ledger where seq = p_last_seq)
      then
        raise exception 'a checkpoint ends with a record that is held, and links to the one before it'
          using errcode = 'data_exception';
      end if;
      -- One that cannot even be read would stop all sealing and verifying, and could never be removed.
      if (p_tree_size between 1 and p_last_seq - p_first_seq + 1
        and p_closed_at >= '1970-01-01Z' and p_closed_at < '10000-01-01Z'
        and octet_length(p_root_hash) + octet_length(coalesce(p_prev_checkpoint_hash, '')) + octet_length(p_kid)
          + octet_length(p_signature) <= ${MAX_TEXT_BYTES}) is not true
      then
        raise exception 'a checkpoint says what can be' using errcode = 'data_exception';
      end if;
      insert into checkpoints (
        checkpoint_id, first_seq, last_seq, tree_size, root_hash, prev_checkpoint_hash, closed_at, kid, signature
      ) values (
        p_checkpoint_id, p_first_seq, p_last_seq, p_tree_size, p_root_hash, p_prev_checkpoint_hash, p_closed_at,
        p_kid, p_signature
      );
      return true;
    end $$`,
    // It must find our tables and nobody else's, whatever the caller's search path is.
    `do $$
    begin
      execute format('alter function add_checkpoint set search_path = %I, pg_temp', current_schema());
    end $$`,
  ],
};
