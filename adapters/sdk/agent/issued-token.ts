/**
 * Reads a token response (specification "Token exchange response"), and compares it with its request. So a faulty or
 * impersonated control plane cannot give the agent more authority than it asked for.
 */

import { decodeJwt } from 'jose';
import { Refused, type Unacceptable } from './errors.ts';

/** The result of an exchange or a renewal. Times are milliseconds since 1970 by this machine's clock. */
export interface IssuedToken {
  readonly token: string;
  readonly grant: string;
  /** When the request was sent. The lifetime counts from then, so that this side never uses a token that has expired. */
  readonly askedAt: number;
  readonly expiresInMs: number;
  /** Whether the token expires together with its task. A renewed token would then expire at the same time. */
  readonly isLast: boolean;
  readonly scope: readonly string[];
  readonly taskId: string;
  /** By the control plane's clock. */
  readonly taskExpiresAt: Date;
}

interface Asked {
  /** Milliseconds since 1970, before the request was sent. */
  readonly at: number;
  /** The requested scopes. The answer may grant fewer, but no others. */
  readonly scope: readonly string[];
  /** For a renewal, the task as the exchange named it. */
  readonly task?: Pick<IssuedToken, 'taskId' | 'taskExpiresAt'>;
}

/** RFC 6750 §2.1. A token of another form is no header value, and the runtime's error would quote it. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
/**
 * How far this clock may be ahead of the control plane's. With more, the control plane refuses the assertion, and issues
 * no token (supplement "Client assertions", skew).
 */
const SKEW_MS = 60_000;

/** The claims of a task token that are compared (specification "Task token claims"). They may be of any type. */
interface TokenClaims {
  readonly exp?: unknown;
  readonly scope?: unknown;
  readonly task?: { readonly id?: unknown; readonly exp?: unknown } | null;
}

/** @throws Refused if the body is not a token response, or does not fit the request */
export function readIssuedToken(body: Readonly<Record<string, unknown>>, asked: Asked): IssuedToken {
  const { access_token: token, token_type: type, refresh_token: grant, expires_in: seconds, scope } = body;
  const taskId = body.task_id;
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
    typeof type !== 'string' ||
    type.toLowerCase() !== 'bearer'
  ) {
    throw new Refused('unexpected_answer', undefined);
  }
  const claims = claimsOf(token);
  const issued: IssuedToken = {
    token,
    grant,
    askedAt: asked.at,
    expiresInMs: seconds * 1000,
    isLast: endsWithItsTask(claims),
    scope: scope.split(' '),
    taskId,
    taskExpiresAt,
  };
  const fault = faultOf(issued, claims, asked);
  if (fault !== undefined) throw new Refused('unexpected_answer', fault);
  return issued;
}

function faultOf(issued: IssuedToken, claims: TokenClaims | undefined, asked: Asked): Unacceptable | undefined {
  const end = issued.taskExpiresAt.getTime();
  if (!isWithin(issued.scope, asked.scope)) return 'scope_wider_than_asked';
  if (claims !== undefined && !(typeof claims.scope === 'string' && isWithin(claims.scope.split(' '), asked.scope))) {
    return 'scope_wider_than_asked';
  }

  if (asked.task !== undefined && issued.taskId !== asked.task.taskId) return 'another_task';
  if (claims !== undefined && claims.task?.id !== issued.taskId) return 'another_task';
  // The end of a task never moves.
  if (asked.task !== undefined && end !== asked.task.taskExpiresAt.getTime()) return 'another_task';

  if (issued.askedAt + issued.expiresInMs > end + SKEW_MS) return 'outlives_its_task';
  // Both times come from the control plane's clock, in whole seconds, so no skew is allowed.
  if (claims !== undefined && !(typeof claims.exp === 'number' && claims.exp * 1000 <= end)) return 'outlives_its_task';
  return undefined;
}

export function isWithin(narrow: readonly string[], wide: readonly string[]): boolean {
  const held = new Set(names(wide));
  return narrow.every((scope) => scope !== '' && held.has(scope));
}

/** The scopes of a list. An entry may hold several, separated by spaces. */
export function names(scope: readonly string[]): readonly string[] {
  return scope.join(' ').split(' ');
}

/** Returns `undefined` for a token that is not a JWT. Only the tool server can check such a token. */
function claimsOf(token: string): TokenClaims | undefined {
  try {
    return decodeJwt<TokenClaims>(token);
  } catch {
    return undefined;
  }
}

/** Compares two claims of the token, so both times come from the control plane's clock. */
function endsWithItsTask(claims: TokenClaims | undefined): boolean {
  const [end, taskEnd] = [claims?.exp, claims?.task?.exp];
  return typeof end === 'number' && typeof taskEnd === 'number' && end >= taskEnd;
}
