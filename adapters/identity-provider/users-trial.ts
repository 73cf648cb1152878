/**
 * Tries whether the users service answers about people. The trial needs no person: it asks for an unused id, and for a path
 * that the service cannot have. At a wrong address the two answers are alike.
 */

import { randomUUID } from 'node:crypto';
import type { UsersTrial } from '../../application/ports/identity-provider.ts';
import { NetworkFailure } from '../../application/ports/network.ts';
import { askUsers, type UsersService, usersRequest } from './users-service.ts';

export async function tryUsers(service: UsersService): Promise<UsersTrial> {
  const access = await service.tokens.current();
  if (access.kind === 'unavailable') return { kind: 'no_token', problem: access.problem, status: access.status };
  const unknownId = randomUUID();
  const asked = await askUsers(service, unknownId);
  if ('problem' in asked) return { kind: 'no_answer', problem: asked.problem, status: asked.status };
  if (asked.answer !== 'sponsor_not_found') return { kind: 'found' };
  return { kind: 'not_found', knowsPaths: await knowsPaths(service, unknownId) };
}

/** `true` also if the service does not answer again: nothing is then known of its paths. */
async function knowsPaths(service: UsersService, unknownId: string): Promise<boolean> {
  const access = await service.tokens.current();
  if (access.kind === 'unavailable') return true;
  const answerTo = async (id: string, path: string) => {
    const { status, body } = await service.network.send(usersRequest(service, path, access.token));
    // A server may repeat the path or the id, and name the time.
    return `${status} ${body.replaceAll(`/${id}`, '').replaceAll(id, '').replace(/\d/g, '')}`;
  };
  const anotherId = randomUUID();
  const requests = [
    answerTo(unknownId, unknownId),
    answerTo(anotherId, anotherId),
    answerTo(unknownId, `${unknownId}/${unknownId}`),
  ];
  const answers = await Promise.all(requests).catch(noAnswers);
  if (answers === undefined) return true;
  const [ofPerson, ofAnother, ofPath] = answers;
  // If two ids are answered differently, as with the id of the request, a difference from the path proves nothing.
  return ofPerson === ofAnother && ofPerson !== ofPath;
}

function noAnswers(error: unknown): undefined {
  if (!(error instanceof NetworkFailure)) throw error;
  return undefined;
}
