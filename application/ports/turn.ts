/**
 * Lets everything else that waits go first: long work takes a turn between its pieces, so that nobody who asks
 * meanwhile has to wait for all of it.
 */
export type Turn = () => Promise<void>;
