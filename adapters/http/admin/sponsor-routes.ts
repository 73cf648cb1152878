/**
 * Routes for blocks (specification "Admin API", `/admin/sponsors/{sponsor_key}`; supplement "Blocks, poll mode, health").
 */

import type { Response } from 'express';
import type { BlockOutcome } from '../../../application/admin/block-sponsor.ts';
import type { LiftVerdict } from '../../../application/decisions/lift-block.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { presentBlock, type SponsorBlock } from '../../../domain/sponsors/block.ts';
import { discardRest } from '../message/body.ts';
import { type Answer, answerProblem } from '../message/problem-details.ts';
import { type Changes, type OperatorRequest, type Reads, readSponsorKey } from './operator-router.ts';

export interface SponsorSurface {
  findBlocks(sponsorKey: SponsorKey): Promise<readonly SponsorBlock[]>;
  /** The inactive users for which SCIM's block stays, although another user of the person is active. */
  usersInTheWay(sponsorKey: SponsorKey): Promise<readonly ProvisionedUser[]>;
  block(sponsorKey: SponsorKey): Promise<BlockOutcome>;
  unblock(sponsorKey: SponsorKey): Promise<LiftVerdict>;
}

async function show(surface: SponsorSurface, request: OperatorRequest, response: Response): Promise<void> {
  const sponsorKey = readSponsorKey(request.params.sponsorKey);
  if (typeof sponsorKey === 'function') return sponsorKey(response);
  const blocks = await surface.findBlocks(sponsorKey);
  const sponsor = presentBlocks(blocks);
  if (sponsor === undefined) return answerNotBlocked(response);
  const inTheWay = blocks.some(({ source }) => source === 'scim') ? await surface.usersInTheWay(sponsorKey) : [];
  response.json(inTheWay.length === 0 ? sponsor : { ...sponsor, inactive_users: inTheWay.map(presentUser) });
}

async function block(surface: SponsorSurface, request: OperatorRequest): Promise<Answer> {
  discardRest(request);
  const sponsorKey = readSponsorKey(request.params.sponsorKey);
  if (typeof sponsorKey === 'function') return sponsorKey;
  const { blocks, revokedTasks } = await surface.block(sponsorKey);
  return (response) => void response.json({ sponsor: presentBlocks(blocks), revoked_tasks: revokedTasks });
}

async function unblock(surface: SponsorSurface, request: OperatorRequest): Promise<Answer> {
  discardRest(request);
  const sponsorKey = readSponsorKey(request.params.sponsorKey);
  if (typeof sponsorKey === 'function') return sponsorKey;
  const outcome = await surface.unblock(sponsorKey);
  return (response) => {
    switch (outcome) {
      case 'lifted':
        response.status(204).end();
        return;
      case 'pending':
        response.status(202).json({ pending: true });
        return;
      case 'not_blocked':
        return answerNotBlocked(response);
      case 'not_owned': {
        const detail = 'No operator has blocked this person, and each source lifts only its own block.';
        return answerProblem(response, { status: 409, detail, reason: 'sponsor_block_not_owned' });
      }
      case 'operator_is_sponsor': {
        const detail =
          'You are the blocked person, or your access token does not say who you are to agents: another operator must lift this block.';
        return answerProblem(response, { status: 403, detail, reason: outcome });
      }
    }
  };
}

/** The oldest block as the main object, with any further blocks in `others` (supplement "Blocks, poll mode, health"). */
function presentBlocks([first, ...others]: readonly SponsorBlock[]) {
  if (first === undefined) return undefined;
  return others.length === 0 ? presentBlock(first) : { ...presentBlock(first), others: others.map(presentBlock) };
}

function presentUser({ userId, userName }: ProvisionedUser) {
  return { id: userId, user_name: userName };
}

function answerNotBlocked(response: Response): void {
  answerProblem(response, { status: 404, detail: 'This person is not blocked.', reason: 'not_blocked' });
}

export const sponsorReads: Reads<SponsorSurface> = { 'GET /admin/sponsors/{sponsor_key}': show };
export const sponsorChanges: Changes<SponsorSurface> = {
  'PUT /admin/sponsors/{sponsor_key}/block': block,
  'DELETE /admin/sponsors/{sponsor_key}/block': unblock,
};
