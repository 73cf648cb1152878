/** Signals from outside: which were accepted, and the tasks that they end (specification "POST /backchannel-logout"). */

import type { Migration } from '../../rows/migrations.ts';

export const signals: Migration = {
  name: '0008-signals',
  statements: [
    `create table accepted_signals (
      receiver text not null check (receiver in ('logout', 'ssf')),
      issuer text not null,
      jti text not null,
      forget_at integer not null,
      primary key (receiver, issuer, jti)
    ) strict, without rowid`,
    `create index accepted_signals_by_forgetting on accepted_signals (forget_at)`,
    // Sessions by sid and people by sub, for as long as their logout refuses subject tokens.
    `create table logouts (
      kind text not null check (kind in ('session', 'person')),
      name text not null,
      -- The latest logout, by the provider's clock.
      stated_at integer not null,
      forget_at integer not null,
      primary key (kind, name)
    ) strict, without rowid`,
    `create index logouts_by_forgetting on logouts (forget_at)`,
    // A logout names the subject, which is not the sponsor key everywhere.
    `create index tasks_live_by_subject on tasks (sponsor) where state = 'live'`,
  ],
};
