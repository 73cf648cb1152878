/** Tells a server that says no from one that does not answer. */

import pg from 'pg';
import { DatabaseRefusal, type RefusalReason } from '../database-refusal.ts';

const REASONS: Readonly<Record<string, RefusalReason>> = {
  '3D000': 'no_such_database',
  '28P01': 'role_not_let_in',
  '28000': 'role_not_let_in',
  '42501': 'role_without_rights',
};

/** @throws DatabaseRefusal in place of what `ask` throws, where that is the server's refusal */
export async function orRefusal<Answer>(role: DatabaseRefusal['role'], ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    const reason = reasonOf(cause);
    throw reason === undefined ? cause : new DatabaseRefusal(reason, role, { cause });
  }
}

function reasonOf(error: unknown): RefusalReason | undefined {
  if (error instanceof pg.DatabaseError) return REASONS[error.code ?? ''];
  return error instanceof Error ? reasonOf(error.cause) : undefined;
}
