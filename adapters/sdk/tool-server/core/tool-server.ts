/** The exports of `mandate/tool-server`: the checks of the tool-server contract, without a web framework. */

export type { Actor } from '../../../../domain/tasks/actor-chain.ts';
export type { AccessEvent } from './access-event.ts';
export { authorizationHeaders } from './bearer-token.ts';
export type { TaskTokenClaims } from './claims.ts';
export { type Access, type AccessRequest, createToolServer, type ToolServer } from './create-tool-server.ts';
export type { ToolServerOptions } from './options.ts';
export type { EnforcedPolicy, RoutePolicy } from './policy.ts';
export { type Refusal, type RefusalBody, type RefusalReason, refusalReasons } from './refusal.ts';
