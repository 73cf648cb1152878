/**
 * A token as the control plane issued it (specification "Token exchange response"), and what is held against the request
 * before it is believed: a control plane that is wrong, or not the one it seems to be, cannot hand out more.
 */

import { decodeJwt } from 'jose';
import { Refused, type Unacceptable } from './errors.ts';

/** What an exchange or a renewal gave. Instants are milliseconds since 1970, by this machine's clock. */
export interface IssuedToken {
  readonly token: string;
  readonly grant: string;
  /** When it was asked for: its life is counted from there, so that it ends here no later than there. */
  readonly askedAt: number;
  readonly expiresInMs: number;
  /** Whether a renewal would live no longer, since the token ends with its task. */
  readonly isLast: boolean;
  readonly scope: readonly string[];
  readonly taskId: string;
  /** By the control plane's clock. */
  readonly taskExpiresAt: Date;
}

export interface Asked {
  /** Milliseconds since 1970, before the request was sent. */
  readonly at: number;
  /** The answer may hold these or fewer. */
  readonly scope: readonly string[];
  /** Of a renewal: the task as its exchange named it. */
  readonly task?: Pick<IssuedToken, 'taskId' | 'taskExpiresAt'>;
}

/** RFC 6750 §2.1. Anything else would be repeated by whoever refuses to make a header of it. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
/**
 * By how much this clock may be ahead of the control plane's: it refuses the assertion of one that is further ahead, so
 * that there is no answer to judge (decisions "Client assertions", skew).
 */
const SKEW_MS = 60_000;

/** The claims of a task token that are compared (specification "Task token claims"). */
interface TokenClaims {
  readonly exp?: number;
  readonly scope?: unknown;
  readonly task?: { readonly id?: unknown; readonly exp?: number };
}

/** @throws Refused when it is not a token response, or not one to this request */
export function readIssuedToken(body: Readonly<Record<string, unknown>>, asked: Asked): IssuedToken {
  const { access_token: token, refresh_token: grant, expires_in: seconds, scope, task_id: taskId } = body;
  const taskExpiresAt = typeof body.task_expires_at === 'string' ? new Date(body.task_expires_at) : undefined;
  if (
    typeof token !== 'string' ||
    !BEARER_TOKEN.test(token) ||
    typeof grant !== 'string' ||
    typeof seconds !== 'number' ||
    !(seconds > 0 && seconds < Number.MAX_SAFE_INTEGER) ||
    typeof scope !== 'string' ||
    typeof taskId !== 'string' ||
    taskExpiresAt === undefined ||
    Number.isNaN(taskExpiresAt.getTime()) ||
    String(body.token_type).toLowerCase() !== 'bearer'
  ) {
    throw new Refused('unexpected_answer', undefined);
  }
  const claims = claimsOf(token);
  const issued: IssuedToken = {
    ...{ token, grant, askedAt: asked.at, expiresInMs: seconds * 1000, isLast: endsWithItsTask(claims) },
    ...{ scope: scope.split(' '), taskId, taskExpiresAt },
  };
  const fault = faultOf(issued, claims, asked);
  if (fault !== undefined) throw new Refused('unexpected_answer', fault);
  return issued;
}

function faultOf(issued: IssuedToken, claims: TokenClaims | undefined, asked: Asked): Unacceptable | undefined {
  const end = issued.taskExpiresAt.getTime();
  const held = [...issued.scope, ...(claims === undefined ? [] : String(claims.scope).split(' '))];
  if (!isWithin(held, asked.scope)) return 'scope_wider_than_asked';

  if (asked.task !== undefined && issued.taskId !== asked.task.taskId) return 'another_task';
  if (claims !== undefined && claims.task?.id !== issued.taskId) return 'another_task';
  // The end of a task never moves.
  if (asked.task !== undefined && end !== asked.task.taskExpiresAt.getTime()) return 'another_task';

  if (issued.askedAt + issued.expiresInMs > end + SKEW_MS) return 'outlives_its_task';
  // Both by the control plane's clock, in whole seconds, so there is nothing to tolerate.
  if (claims !== undefined && !(Number(claims.exp) * 1000 <= end)) return 'outlives_its_task';
  return undefined;
}

function isWithin(narrow: readonly string[], wide: readonly string[]): boolean {
  const held = new Set(names(wide));
  return narrow.every((scope) => scope !== '' && held.has(scope));
}

/** Scopes as they are sent: an entry may name several. */
export function names(scope: readonly string[]): readonly string[] {
  return scope.join(' ').split(' ');
}

/** `undefined` of a token that is not a JWT: its own server judges it. */
function claimsOf(token: string): TokenClaims | undefined {
  try {
    return decodeJwt<TokenClaims>(token);
  } catch {
    return undefined;
  }
}

/** By the control plane's own clock on both sides, as the token says. */
function endsWithItsTask(claims: TokenClaims | undefined): boolean {
  return claims?.exp !== undefined && claims.task?.exp !== undefined && claims.exp >= claims.task.exp;
}
