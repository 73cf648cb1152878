/** Authorizations for the storage suites. Ids are new and random, because the tests of a suite share a database. */

import { randomUUID } from 'node:crypto';
import type { Authorization, IssuedCode } from '../../domain/authorization/authorization.ts';
import { makeRequestId, makeTaskId } from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { newAgentId, newSponsorKey, ulid } from './storage-fixtures.ts';

/** In the state `open`. Every field has a value that no other has. */
export function anAuthorization(changes: Partial<Authorization> = {}): Authorization {
  const unique = randomUUID();
  return {
    requestId: makeRequestId(ulid()),
    browserHash: `browser ${unique}`,
    agentId: newAgentId(),
    client: 'document',
    redirectUri: `https://é.example/${unique}?x=1`,
    clientState: `é 😀 "${unique}" \\`,
    challenge: `challenge ${unique}`,
    audience: `https://é.example/${unique}`,
    offered: ['jira:read', 'jira:write'],
    asked: ['jira:read', 'jira:write', 'jira:admin'],
    purpose: 'é 😀 "quoted" \u202e',
    person: {
      subject: `ada-${unique}-é😀`,
      sponsorKey: newSponsorKey(),
      sessionId: `session-${unique}`,
      issuedAt: plusSeconds(NOON, -3),
      authenticatedAt: plusSeconds(NOON, -40),
      scope: ['jira:read', 'jira:write', 'mail'],
    },
    beganAt: instantFromMicros(NOON - 20_000_001),
    cameAt: instantFromMicros(NOON + 1),
    expiresAt: plusSeconds(NOON, 600),
    state: 'open',
    answeredAt: undefined,
    voidReason: undefined,
    code: undefined,
    ...changes,
  };
}

export function aCode(): IssuedCode {
  return {
    hash: `code ${randomUUID()}`,
    expiresAt: instantFromMicros(NOON + 60_000_003),
    scope: ['jira:write'],
    taskEndsAt: plusSeconds(NOON, 1800),
    taskId: makeTaskId(ulid()),
  };
}
