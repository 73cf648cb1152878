/** The headers that tell the upstream who acts for whom. The guard sets all of them, also the empty ones. */

import { formatScope } from '../../../../domain/scope.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import type { RoutePolicy } from '../core/policy.ts';
import type { GuardConfiguration } from './configuration.ts';

export type IdentityHeaders = Readonly<
  Record<'Mandate-Subject' | 'Mandate-Agent' | 'Mandate-Task' | 'Mandate-Scope', string> & {
    'Mandate-Issuer'?: string;
    'Mandate-Chain'?: string;
  }
>;

/** What decides which headers there are besides the four. */
export interface Naming extends Pick<GuardConfiguration, 'issuer'> {
  /** Whether a policy accepts work that one agent has handed to another. Then the agent that calls is not the only one. */
  readonly acceptsChains?: boolean;
}

export function namingOf({
  issuer,
  routes,
  mcp,
}: Pick<GuardConfiguration, 'issuer' | 'routes' | 'mcp'>): Required<Naming> {
  const policies: readonly RoutePolicy[] = [
    ...routes,
    ...Object.values(mcp?.tools ?? {}),
    ...Object.values(mcp?.methods ?? {}),
  ];
  return { issuer, acceptsChains: policies.some(({ maxDelegationDepth = 1 }) => maxDelegationDepth > 1) };
}

/**
 * A header that is absent could be one that a client sent: an empty one replaces it.
 *
 * @param claims `undefined` for a request that needs no token
 * @param configuration a list of control planes adds `Mandate-Issuer`: the name of a person is unique only with it
 */
export function identityHeaders(
  claims: TaskTokenClaims | undefined,
  { issuer, acceptsChains = false }: Naming,
): IdentityHeaders {
  return {
    'Mandate-Subject': encoded(claims?.sub ?? ''),
    'Mandate-Agent': encoded(claims?.act?.sub ?? ''),
    'Mandate-Task': encoded(claims?.task?.id ?? ''),
    'Mandate-Scope': encoded(formatScope(claims?.scope ?? [])),
    ...(typeof issuer !== 'string' && { 'Mandate-Issuer': encoded(claims?.iss ?? '') }),
    ...(acceptsChains && { 'Mandate-Chain': encoded((claims?.chain ?? []).map(({ sub }) => sub).join(' ')) }),
  };
}

/**
 * Percent-encodes all but printable ASCII, so that any decoder of URLs restores the text. A percent sign is encoded too. So
 * is a space at either end, which HTTP drops (RFC 9110 §5.5).
 */
function encoded(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^ -$&-~]+|^ +| +$/gu, (part) =>
      /^ +$/.test(part) ? '%20'.repeat(part.length) : encodeURIComponent(part),
    );
}
