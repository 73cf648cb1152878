/** The history of a fault run: every operation of the clients, and every record of the ledger. */

/** A request and its response, as the client saw them. */
export interface Operation {
  readonly kind: OperationKind;
  /** A time of `wallClock`. */
  readonly began: number;
  readonly ended: number;
  /** 0 if there is no complete response. */
  readonly status: number;
  /** The error and the reason in the response, or why there is no response. */
  readonly error?: string | undefined;
  readonly retryAfter?: string | undefined;
  /** The `sub` of the person. No other exchange names this person. */
  readonly sub?: string | undefined;
  readonly agent?: string | undefined;
  readonly task?: string | undefined;
  readonly jti?: string | undefined;
  /** An access token, which is introspected at the end of the run. */
  readonly token?: string | undefined;
  readonly active?: boolean | undefined;
  /** Of the call that needs an approval. */
  readonly digest?: string | undefined;
  readonly approval?: string | undefined;
  /** What a tool server was told of the approval. */
  readonly state?: string | undefined;
  /** The id of a provisioned user. */
  readonly user?: string | undefined;
  /** Whether the request was sent over a new connection. */
  readonly newConnection?: true | undefined;
  /** Whether no process listened, so that none received the request. */
  readonly connectionRefused?: true | undefined;
}

export type OperationKind =
  | 'exchange'
  | 'exchange for another audience'
  | 'exchange for a blocked person'
  | 'refresh'
  | 'introspect'
  | 'revoke a token'
  | 'revoke a grant'
  | 'kill a task'
  | 'block'
  | 'provision'
  | 'deactivate'
  | 'activate'
  | 'ask for approval'
  | 'read what waits'
  | 'say yes'
  | 'say no'
  | 'log out'
  | 'disable by event'
  | 'register'
  | 'disable an agent';

/** The operations that end the task they name, or all tasks of the person. */
export const ENDINGS: ReadonlySet<OperationKind> = new Set<OperationKind>([
  'revoke a grant',
  'kill a task',
  'block',
  'deactivate',
  'log out',
  'disable by event',
]);

export function isSuccess({ status }: Pick<Operation, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** Whether the outcome is unknown: the operation may or may not have had its effect. */
export function isIndeterminate({ status }: Pick<Operation, 'status'>): boolean {
  return status === 0 || status === 503;
}

/** Whether a process accepted the connection, but sent no complete response. */
export function isUnanswered({ status, connectionRefused }: Operation): boolean {
  return status === 0 && connectionRefused !== true;
}

/** The longest time until a response, in milliseconds. */
export function longestAnswer(operations: readonly Operation[]): number {
  return operations.reduce(
    (longest, { status, began, ended }) => (status === 0 ? longest : Math.max(longest, ended - began)),
    0,
  );
}

/** Milliseconds since the epoch, with fractions. All processes of a run use this clock. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

/** A ledger record, as `GET /audit` shows it. */
export interface LedgerLine {
  readonly seq: number;
  /** `null` until the record is sealed. */
  readonly checkpoint: number | null;
  readonly event: string;
  readonly reason: string | null;
  readonly task_id: string | null;
  readonly agent_id: string | null;
  readonly sponsor: string | null;
  readonly jti: string | null;
  readonly detail: string | null;
  readonly count?: number;
}

export interface History {
  readonly operations: readonly Operation[];
  readonly lines: readonly LedgerLine[];
  /** The agents that were registered before the first operation. */
  readonly agents: readonly string[];
}

/** A sentence for each contradiction between the responses, the ledger and the state of the service. */
export type Losses = readonly string[];

/** @returns a function from a key to its items, in their order. Items without a key are left out */
export function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | null | undefined,
): (key: string | null | undefined) => readonly Item[] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (typeof key !== 'string') continue;
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(item);
  }
  return (key) => groups.get(key ?? '') ?? [];
}

/** The operations that may have ended a task, by the task's id. */
export function endingsByTask(operations: readonly Operation[]): ReturnType<typeof groupBy<Operation>> {
  return groupBy(
    operations.filter(({ kind }) => ENDINGS.has(kind)),
    ({ task }) => task,
  );
}
