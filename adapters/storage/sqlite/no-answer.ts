/** The readiness of a silent database. Its own file, because the main thread must not load SQLite. */
export const NO_ANSWER = { status: 'Unhealthy', detail: 'SQLite did not answer.' } as const;
