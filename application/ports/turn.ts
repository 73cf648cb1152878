/** Yields to the event loop. Long work yields between its parts, so that a request need not wait for all of it. */
export type Turn = () => Promise<void>;
