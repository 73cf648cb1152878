/**
 * Routes for blocks (specification "Admin API", `/admin/sponsors/{sponsor_key}`; supplement "Blocks, poll mode, health").
 */

import type { Response, Router } from 'express';
import type { BlockOutcome } from '../../../application/admin/block-sponsor.ts';
import type { LiftVerdict } from '../../../application/decisions/lift-block.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { presentBlock, type SponsorBlock } from '../../../domain/sponsors/block.ts';
import { discardRest } from '../message/body.ts';
import { answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import { forRequest, type Traceable } from '../traceable.ts';
import { readSponsorKey } from './requests.ts';

export interface SponsorSurface {
  findBlocks(sponsorKey: SponsorKey): Promise<readonly SponsorBlock[]>;
  block(sponsorKey: SponsorKey): Promise<BlockOutcome>;
  unblock(sponsorKey: SponsorKey): Promise<LiftVerdict>;
}

export function addSponsorRoutes(router: Router, surface: Traceable<SponsorSurface>): void {
  router
    .route('/sponsors/:sponsorKey')
    .get((request, response) => show(forRequest(surface, request), request.params.sponsorKey, response))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/sponsors/:sponsorKey/block')
    .put((request, response) => {
      discardRest(request);
      return block(forRequest(surface, request), request.params.sponsorKey, response);
    })
    .delete((request, response) => {
      discardRest(request);
      return unblock(forRequest(surface, request), request.params.sponsorKey, response);
    })
    .all(methodNotAllowed('PUT, DELETE'));
}

async function show(surface: SponsorSurface, text: string, response: Response): Promise<void> {
  const sponsorKey = readSponsorKey(text, response);
  if (sponsorKey === undefined) return;
  const sponsor = presentBlocks(await surface.findBlocks(sponsorKey));
  if (sponsor === undefined) answerNotBlocked(response);
  else response.json(sponsor);
}

async function block(surface: SponsorSurface, text: string, response: Response): Promise<void> {
  const sponsorKey = readSponsorKey(text, response);
  if (sponsorKey === undefined) return;
  const { blocks, revokedTasks } = await surface.block(sponsorKey);
  response.json({ sponsor: presentBlocks(blocks), revoked_tasks: revokedTasks });
}

async function unblock(surface: SponsorSurface, text: string, response: Response): Promise<void> {
  const sponsorKey = readSponsorKey(text, response);
  if (sponsorKey === undefined) return;
  switch (await surface.unblock(sponsorKey)) {
    case 'lifted':
      response.status(204).end();
      return;
    case 'not_blocked':
      return answerNotBlocked(response);
    case 'not_owned': {
      const detail = 'No operator has blocked this person, and each source lifts only its own block.';
      return answerProblem(response, { status: 409, detail, reason: 'sponsor_block_not_owned' });
    }
  }
}

/** The oldest block as the main object, with any further blocks in `others` (supplement "Blocks, poll mode, health"). */
function presentBlocks([first, ...others]: readonly SponsorBlock[]) {
  if (first === undefined) return undefined;
  return others.length === 0 ? presentBlock(first) : { ...presentBlock(first), others: others.map(presentBlock) };
}

function answerNotBlocked(response: Response): void {
  answerProblem(response, { status: 404, detail: 'This person is not blocked.', reason: 'not_blocked' });
}
