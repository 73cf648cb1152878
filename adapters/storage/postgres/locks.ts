/**
 * The classes of our advisory locks: the first of the two numbers of a Postgres advisory lock, the second being the
 * hash of a key. All are held until the transaction ends; none is a session's, which a pooler would lose.
 *
 * Every decision takes them in this order, then rows, then the ledger's fence, so that no two wait for each other.
 * An exchange or a renewal takes the first four shared; what ends tasks or changes an agent takes its one exclusively.
 * So a decision either commits before such a change, and is ended by it, or waits and sees it.
 */
export const LOCK = {
  sponsor: 1_296_105_473,
  /** The person by `sub`, where the sponsor key is another claim. */
  subject: 1_296_105_510,
  session: 1_296_105_474,
  agent: 1_296_105_475,
  /** Held exclusively by a write that takes a provisioned user's name, and so by whatever adds a user. */
  userNames: 1_296_105_500,
  /** Held shared by every append, from before it takes its number until it commits. */
  ledgerFence: 1_296_105_476,
  migration: 1_296_105_477,
  partitions: 1_296_105_478,
  /** Held exclusively while a checkpoint is added. */
  sealing: 1_296_105_479,
  /** Held while rows are deleted that are remembered no longer; who finds it held leaves that to its holder. */
  forgetting: 1_296_105_520,
  /** Held by `mandate audit-archive` for as long as it runs, by a transaction that does nothing else. */
  archive: 1_296_105_490,
} as const;
