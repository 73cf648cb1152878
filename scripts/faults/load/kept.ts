/** What a client keeps of each request and its answer, so that afterwards every answer can be held against the ledger. */

export interface Kept {
  readonly act: Act;
  /** By `wallClock`. */
  readonly began: number;
  readonly ended: number;
  /** 0 where no whole answer came: the request may have been acted on or not. */
  readonly status: number;
  /** The answer's error and reason, or why there was none. */
  readonly error?: string | undefined;
  readonly retryAfter?: string | undefined;
  /** `sub` of the person, whom no other exchange names. */
  readonly sub?: string | undefined;
  readonly agent?: string | undefined;
  readonly task?: string | undefined;
  readonly jti?: string | undefined;
  /** Of a token that the client holds, to ask about it once more at the end. */
  readonly token?: string | undefined;
  readonly active?: boolean | undefined;
  /** Of a provisioned user. */
  readonly user?: string | undefined;
  /** Sent over a connection of its own. */
  readonly anew?: true | undefined;
  /** The new connection was refused by the system: nobody had accepted the request. */
  readonly refused?: true | undefined;
}

export type Act =
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
  | 'log out'
  | 'disable by event'
  | 'register'
  | 'disable an agent';

/** Answered 200, each has ended every task of the person, or the one it names. */
export const ENDINGS: ReadonlySet<Act> = new Set<Act>([
  'revoke a grant',
  'kill a task',
  'block',
  'deactivate',
  'log out',
  'disable by event',
]);

/** Whether somebody listened, and no whole answer came. */
export function isLost({ status, refused }: Pick<Kept, 'status' | 'refused'>): boolean {
  return status === 0 && refused !== true;
}

/** Whether it may have been acted on although nobody was told so. */
export function isUnknown({ status }: Pick<Kept, 'status'>): boolean {
  return status === 0 || status === 503;
}

export function isDone({ status }: Pick<Kept, 'status'>): boolean {
  return status >= 200 && status < 300;
}
