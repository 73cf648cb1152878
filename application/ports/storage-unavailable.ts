/**
 * Thrown by storage ports if the database does not answer or cannot take the decision. The caller made no mistake, and
 * whether the decision was applied is unknown. Surfaces answer `temporarily_unavailable` (specification "Errors").
 */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
