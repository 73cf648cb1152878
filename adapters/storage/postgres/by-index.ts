/**
 * For functions that look up a few rows of tables that grow. PL/pgSQL keeps the plan that it made when a table was small and
 * all of it was soonest read, until the table is analysed again, and on a busy one that is late. With this no table is
 * scanned where an index can serve, and hardly anything is paid for it.
 *
 * Every statement must have an index then: Postgres before 18 takes one that has none for very dear. And nothing is compiled
 * (jit), however dear a statement looks: nobody can guess how many tasks it is about, and most often it is one.
 */
export const BY_INDEX = 'set enable_seqscan = off set jit = off';
