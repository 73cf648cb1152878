/** The newest checkpoint of a log that this witness has cosigned. */
export interface WitnessedCheckpoint {
  readonly origin: string;
  readonly size: number;
  /** In base64. */
  readonly root: string;
  /** When it was cosigned, in seconds since 1970. */
  readonly seconds: number;
  /** The note with the signatures of the log's keys that verified, and with this witness's cosignature. */
  readonly note: string;
}

/** The memory of a witness. All methods may throw StorageUnavailable; whether `replace` was applied is then unknown. */
export interface WitnessedLogs {
  /** `undefined` if no checkpoint of the log was cosigned yet. */
  newest(origin: string): Promise<WitnessedCheckpoint | undefined>;

  /**
   * Stores a cosigned checkpoint durably, if the newest one is still `known`. `overtaken`: another request replaced it
   * meanwhile, and nothing was written.
   */
  replace(known: WitnessedCheckpoint | undefined, by: WitnessedCheckpoint): Promise<'replaced' | 'overtaken'>;
}
