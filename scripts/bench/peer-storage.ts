/**
 * The storage of the peer that stores: an adapter of `oidc-provider`, on Postgres or on SQLite. As the library's contract
 * asks, every call is answered after its commit, and each model is stored by a separate call. The commits are durable,
 * as those of Mandate are.
 */

import Database from 'better-sqlite3';
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';
import pg from 'pg';

export type PeerDatabase =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'postgres'; readonly uri: string };

type Value = string | number | null;
type Row = Readonly<Record<string, unknown>>;

/** Runs statements whose parameters are `$1`, `$2` and so on, each used once and in this order. */
interface Connection {
  first(sql: string, values: readonly Value[]): Promise<Row | undefined>;
  run(sql: string, values: readonly Value[]): Promise<void>;
  close(): Promise<void>;
}

export interface PeerStorage {
  readonly adapter: AdapterFactory;
  close(): Promise<void>;
}

const SCHEMA = [
  `create table if not exists peer_models (
    model text not null,
    id text not null,
    payload text not null,
    grant_id text,
    user_code text,
    uid text,
    expires_at bigint,
    consumed_at bigint,
    primary key (model, id)
  )`,
  'create index if not exists peer_models_by_grant on peer_models (grant_id) where grant_id is not null',
  'create index if not exists peer_models_by_user_code on peer_models (user_code) where user_code is not null',
  'create index if not exists peer_models_by_uid on peer_models (uid) where uid is not null',
] as const;

export async function openPeerStorage(database: PeerDatabase): Promise<PeerStorage> {
  const connection = database.engine === 'sqlite' ? openSqlite(database.path) : openPostgres(database.uri);
  for (const statement of SCHEMA) await connection.run(statement, []);
  return { adapter: (model) => adapterOf(connection, model), close: connection.close };
}

function openSqlite(path: string): Connection {
  const file = new Database(path);
  file.pragma('journal_mode = wal');
  file.pragma('synchronous = full');
  const prepared = new Map<string, Database.Statement>();
  const statement = (sql: string) => {
    const known = prepared.get(sql) ?? file.prepare(sql.replaceAll(/\$\d/g, '?'));
    prepared.set(sql, known);
    return known;
  };
  return {
    first: async (sql, values) => statement(sql).get(...values) as Row | undefined,
    run: async (sql, values) => void statement(sql).run(...values),
    close: async () => void file.close(),
  };
}

function openPostgres(connectionString: string): Connection {
  const pool = new pg.Pool({ connectionString });
  // `end` does not wait for the server, so a connection that is closing may still get an error.
  pool.on('error', () => undefined);
  const names = new Map<string, string>();
  const query = (text: string, values: readonly Value[]) => {
    const name = names.get(text) ?? `peer_${names.size}`;
    names.set(text, name);
    return pool.query<Row>({ name, text, values: [...values] });
  };
  return {
    first: async (sql, values) => (await query(sql, values)).rows[0],
    run: async (sql, values) => void (await query(sql, values)),
    close: () => pool.end(),
  };
}

function adapterOf({ first, run }: Connection, model: string): Adapter {
  const findBy = async (column: string, value: string): Promise<AdapterPayload | undefined> => {
    const row = await first(
      `select payload, consumed_at from peer_models
        where model = $1 and ${column} = $2 and (expires_at is null or expires_at > $3)`,
      [model, value, now()],
    );
    if (row === undefined) return undefined;
    const payload: AdapterPayload = JSON.parse(String(row.payload));
    return row.consumed_at === null ? payload : { ...payload, consumed: Number(row.consumed_at) };
  };
  return {
    async upsert(id, payload, expiresIn) {
      const { grantId = null, userCode = null, uid = null } = payload;
      const expiresAt = expiresIn === undefined ? null : now() + expiresIn;
      await run(
        `insert into peer_models (model, id, payload, grant_id, user_code, uid, expires_at)
          values ($1, $2, $3, $4, $5, $6, $7)
          on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
            user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
        [model, id, JSON.stringify(payload), grantId, userCode, uid, expiresAt],
      );
    },
    find: (id) => findBy('id', id),
    findByUserCode: (userCode) => findBy('user_code', userCode),
    findByUid: (uid) => findBy('uid', uid),
    consume: (id) => run('update peer_models set consumed_at = $1 where model = $2 and id = $3', [now(), model, id]),
    destroy: (id) => run('delete from peer_models where model = $1 and id = $2', [model, id]),
    revokeByGrantId: (grantId) => run('delete from peer_models where model = $1 and grant_id = $2', [model, grantId]),
  };
}

/** The library counts in seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000);
}
