/**
 * For functions that look up a few rows of tables that grow. PL/pgSQL keeps the plan that it made when a table was small and
 * all of it was soonest read, until the table is analysed again, and on a busy one that is late. With this a table is not
 * read from end to end, and hardly anything is paid for it. A function that is only called by these need not say it.
 *
 * Every statement must have an index then: Postgres before 18 takes one that has none for very dear. Nor is anything
 * compiled for a statement that looks dear, since nobody can guess how many tasks it is about, and most often it is one.
 */
export const BY_INDEX = 'set enable_seqscan = off set jit = off';
