/**
 * For functions that look up a few rows of tables that grow. PL/pgSQL keeps the plan that it made when a table was small and
 * all of it was soonest read, until the table is analysed again, and on a busy one that is late. With this it is never read
 * from end to end, there or in what is called there; it costs nothing, unlike planning each time (plan_cache_mode).
 *
 * Every statement must have an index then: Postgres before 18 takes one that has none for so dear that it compiles it.
 */
export const BY_INDEX = 'set enable_seqscan = off';
