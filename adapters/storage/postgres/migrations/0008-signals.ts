/**
 * Signals from outside (specification "POST /backchannel-logout", "POST /events"): which were accepted, and what they
 * do, each one round trip. Locks are taken in the order of `locks.ts`.
 */

import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';
import { LOCK } from '../locks.ts';

export const signals: Migration = {
  name: '0008-signals',
  statements: [
    `create table accepted_signals (
      receiver text collate "C" not null check (receiver in ('logout', 'ssf')),
      issuer text collate "C" not null,
      jti text collate "C" not null,
      forget_at timestamptz not null,
      primary key (receiver, issuer, jti)
    )`,
    `create index accepted_signals_by_forgetting on accepted_signals (forget_at)`,
    // Sessions by sid and people by sub, for as long as their logout refuses subject tokens.
    `create table logouts (
      kind text collate "C" not null check (kind in ('session', 'person')),
      name text collate "C" not null,
      -- The latest logout, by the provider's clock.
      stated_at timestamptz not null,
      forget_at timestamptz not null,
      primary key (kind, name)
    )`,
    `create index logouts_by_forgetting on logouts (forget_at)`,
    // A logout names the subject, which is not the sponsor key everywhere. Not null: see 0004-tasks.
    `create index tasks_live_by_subject on tasks (sponsor) where state = 'live' and sponsor is not null`,

    // Remembers a signal; false when one with its jti was accepted before. Of two at once the second waits for the
    // first to commit.
    `create function remember_signal(p_receiver text, p_issuer text, p_jti text, p_forget_at timestamptz)
    returns boolean language plpgsql as $$
    begin
      insert into accepted_signals (receiver, issuer, jti, forget_at)
        values (p_receiver, p_issuer, p_jti, p_forget_at) on conflict do nothing;
      return found;
    end $$`,

    // Whether a subject token is from before a remembered logout; one without iat is. An exchange asks under the locks
    // that a logout takes: a logout that it does not see here comes later, and ends its task.
    `create function is_logged_out(p_subject text, p_session_id text, p_issued_at timestamptz, p_at timestamptz)
    returns boolean language plpgsql ${BY_INDEX} as $$
    begin
      return exists (select from logouts where kind = 'session' and name = p_session_id and forget_at > p_at)
        or exists (select from logouts where kind = 'person' and name = p_subject and forget_at > p_at
          and stated_at >= coalesce(p_issued_at, stated_at));
    end $$`,

    // Answers how many tasks it ended; null when the signal is a repeated one. An exchange holds the subject's lock only
    // where the subject is not the sponsor key, and the sponsor key's otherwise: both are taken. Where the rows
    // have to say who it is about they are locked first, so that nobody is named whose tasks another decision has just ended.
    `create function accept_logout(
      p_issuer text, p_jti text, p_forget_at timestamptz, p_at timestamptz, p_subject text, p_session_id text,
      p_stated_at timestamptz, p_refuse_until timestamptz
    ) returns integer language plpgsql ${BY_INDEX} as $$
    declare
      v_roots text[];
      v_sponsor text := p_subject;
    begin
      if p_session_id is not null then
        perform pg_advisory_xact_lock(${LOCK.session}, hashtext(p_session_id));
      else
        perform pg_advisory_xact_lock(${LOCK.sponsor}, hashtext(p_subject));
        perform pg_advisory_xact_lock(${LOCK.subject}, hashtext(p_subject));
      end if;
      if not remember_signal('logout', p_issuer, p_jti, p_forget_at) then
        return null;
      end if;
      if p_refuse_until is not null then
        insert into logouts as l (kind, name, stated_at, forget_at)
          values (case when p_session_id is null then 'person' else 'session' end, coalesce(p_session_id, p_subject),
            p_stated_at, p_refuse_until)
          on conflict (kind, name) do update set
            stated_at = greatest(l.stated_at, excluded.stated_at), forget_at = greatest(l.forget_at, excluded.forget_at);
      end if;
      if p_session_id is not null then
        v_roots := array(select task_id from tasks where session_id = p_session_id and state = 'live');
      else
        v_roots := array(select task_id from tasks where sponsor = p_subject and state = 'live');
      end if;
      if v_sponsor is null then
        v_roots := lock_live_tasks(v_roots, p_at);
        -- Null again where there is none, or where a provider gave several people one session.
        select case when count(distinct sponsor) = 1 then min(sponsor) end into v_sponsor
          from tasks where task_id = any (v_roots);
      end if;
      return end_tasks(v_roots, p_at, 'sponsor_logged_out', row(p_at, 'sponsor.signal', null, null, v_sponsor, null,
        null, null, null, 'allow', 'sponsor_logged_out', null, null)::ledger_entry);
    end $$`,

    // Answers how many tasks it ended, null when the signal is a repeated one; and whether it would have lifted a block
    // that was stated later (domain/sponsors/block.ts, isOutdated). The reasons come in the order of their records, with
    // a space between them (an outdated lift is recorded as domain/signals/security-event.ts, reasonsOnRecord, says);
    // no end reason leaves the tasks as they are.
    `create function accept_security_event(
      p_issuer text, p_jti text, p_forget_at timestamptz, p_at timestamptz, p_sponsor_key text, p_stated_at timestamptz,
      p_reasons text, p_lift boolean, p_block text, p_end_reason text, out revoked_tasks integer, out outdated boolean
    ) language plpgsql ${BY_INDEX} as $$
    declare
      v_first ledger_entry[];
    begin
      outdated := false;
      perform pg_advisory_xact_lock(${LOCK.sponsor}, hashtext(p_sponsor_key));
      if not remember_signal('ssf', p_issuer, p_jti, p_forget_at) then
        return;
      end if;
      if p_lift then
        delete from sponsor_blocks
          where sponsor_key = p_sponsor_key and source = 'ssf' and stated_at <= p_stated_at;
        outdated := exists (select from sponsor_blocks where sponsor_key = p_sponsor_key and source = 'ssf');
      end if;
      if p_block is not null then
        -- An account that was disabled may be purged later, and stays refused from when it was disabled.
        insert into sponsor_blocks as b (sponsor_key, source, kind, blocked_at, stated_at)
          values (p_sponsor_key, 'ssf', p_block, p_at, p_stated_at) on conflict (sponsor_key, source) do update set
              kind = case when excluded.kind = 'deleted' then 'deleted' else b.kind end,
              stated_at = greatest(b.stated_at, excluded.stated_at);
      end if;
      v_first := array(
        select row(p_at, 'sponsor.signal', null, null, p_sponsor_key, null, null, null, null, 'allow',
            case when outdated and told.reason = 'ssf_account_enabled' then 'ssf_account_enabled_outdated'
              else told.reason end,
            null, null)::ledger_entry
          from unnest(string_to_array(p_reasons, ' ')) with ordinality as told (reason, nth) order by told.nth);
      revoked_tasks := end_tasks_after(
        array(select task_id from tasks
          where p_end_reason is not null and sponsor_key = p_sponsor_key and state = 'live'),
        p_at, p_end_reason, v_first);
    end $$`,
  ],
};
