/** The health of a database that does not answer. Its own file: the main thread needs it, and must not load SQLite. */
export const NO_ANSWER = { status: 'Unhealthy', detail: 'SQLite did not answer.' } as const;
