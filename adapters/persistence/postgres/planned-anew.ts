/**
 * For functions that look up a few rows of tables that grow. PL/pgSQL keeps the plan that it made when the table was small,
 * where to read all of it was the shortest way, until the table is analysed again: a minute on a new database, and for
 * ever so long on a busy one. Planning anew costs some tenths of a millisecond. Also of functions that are called there.
 */
export const PLANNED_ANEW = 'set plan_cache_mode = force_custom_plan';
