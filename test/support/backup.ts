/** Sets a database back in time: a copy of it takes its place. */

import { copyFileSync, existsSync } from 'node:fs';
import { expect } from 'chai';
import pg from 'pg';
import type { FreshDatabase } from './databases.ts';
import { postgresServer, SUPERUSER } from './postgres-server.ts';

/** Copies the database, which no process uses. Resolves with the function that puts the copy in its place. */
export async function backup({ settings }: FreshDatabase): Promise<() => Promise<void>> {
  const path = settings['Service:Database:Path'];
  if (path !== undefined) {
    expect(existsSync(`${path}-wal`)).to.equal(false);
    copyFileSync(path, `${path}-backup`);
    return async () => copyFileSync(`${path}-backup`, path);
  }
  const name = new URL(settings['Service:Database:ConnectionString'] ?? '').pathname.slice(1);
  const client = new pg.Client((await postgresServer()).url(SUPERUSER, 'postgres'));
  await client.connect();
  await client.query(`create database ${name}_backup template ${name}`);
  return async () => {
    await client.query(`drop database ${name} with (force)`);
    await client.query(`alter database ${name}_backup rename to ${name}`);
    await client.end();
  };
}
