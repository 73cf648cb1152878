/** Seconds until a database that did not answer is worth asking again (specification "OAuth error bodies"). */
export const DATABASE_RETRY_AFTER = 5;

/** Seconds until a service at capacity is worth asking again (specification "Overload"). */
export const CAPACITY_RETRY_AFTER = 1;

/** Seconds until a change that lost to other changes of the same agent is worth sending again. */
export const CONFLICT_RETRY_AFTER = 1;
