/**
 * Thrown by any storage port when the database did not answer, or could not take the decision: nobody's fault who
 * asked, and unknown whether it was applied. Surfaces answer `temporarily_unavailable` (specification "Errors").
 */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
