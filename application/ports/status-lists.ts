/** Queries of the status lists, and of what the tables say about their tasks. All methods may throw StorageUnavailable. */

import type { Instant } from '../../domain/instant.ts';
import type { ListedTasks } from '../../domain/tasks/status-list.ts';
import type { Effects } from '../decisions/effect.ts';

/** The status lists, and what the tables say about their tasks. */
export interface StatusLists {
  /** The list as of one instant; `undefined` if it is not stored. */
  find(listId: string): Promise<StoredStatusList | undefined>;

  /** The ids of all stored lists, oldest first. */
  list(): Promise<readonly string[]>;

  /** Every stored list, oldest first. Reads each index that a task holds. */
  usage(): Promise<readonly StatusListUsage[]>;
}

export interface StatusListUsage extends Omit<Effects['insert_status_list'], 'at'> {
  /** The number of indices that tasks hold. */
  readonly held: number;
  readonly createdAt: Instant;
}

export interface StoredStatusList extends ListedTasks {
  /** The number of indices. */
  readonly entries: number;
}
