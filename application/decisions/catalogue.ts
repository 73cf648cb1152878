/** Every decision. The SQLite thread finds a decision here by the name that the main thread sends. */

import { activateKeys } from './activate-keys.ts';
import { answerApproval } from './answer-approval.ts';
import { answerRequest } from './answer-request.ts';
import { append } from './append.ts';
import { applySecurityEvent } from './apply-security-event.ts';
import { askApproval } from './ask-approval.ts';
import type { Decision } from './decision.ts';
import { allowDelegation, refuseDelegation } from './delegation-refusal.ts';
import { endAllRequests, endOwnTasks, endSomeTasks, endTasks } from './end-tasks.ts';
import { findAgent, findGrantOwner, findOwnTaskSponsor, findTaskOfOffer, findTaskSponsor, userExists } from './find.ts';
import { keepRequest } from './keep-request.ts';
import { liftBlock } from './lift-block.ts';
import { logOut } from './log-out.ts';
import { offerDelegation } from './offer-delegation.ts';
import { openStatusList } from './open-status-list.ts';
import { openTask } from './open-task.ts';
import { recordAct, refuseOperator } from './operator-act.ts';
import { placeBlock, placePause, refusePause } from './place-block.ts';
import { refuse } from './refuse.ts';
import { renewGrant } from './renew-grant.ts';
import { revokeGrant } from './revoke-grant.ts';
import { revokeSingleToken } from './revoke-single-token.ts';
import { closeSession, openSession, useSession } from './sessions.ts';
import { spendAssertion } from './spend-assertion.ts';
import { deleteEndedTasks, expireDueApprovals, expireDueTasks } from './sweep.ts';
import { addAgent, changeAgent, deleteAgent, disableAgent } from './write-agent.ts';
import { addUser, changeUser, deleteUser } from './write-user.ts';

export const catalogue: readonly Decision<never, unknown>[] = [
  activateKeys,
  addAgent,
  addUser,
  allowDelegation,
  answerApproval,
  answerRequest,
  append,
  applySecurityEvent,
  askApproval,
  changeAgent,
  changeUser,
  closeSession,
  deleteAgent,
  deleteEndedTasks,
  deleteUser,
  disableAgent,
  endAllRequests,
  endOwnTasks,
  endSomeTasks,
  endTasks,
  expireDueApprovals,
  expireDueTasks,
  findAgent,
  findGrantOwner,
  findOwnTaskSponsor,
  findTaskOfOffer,
  findTaskSponsor,
  keepRequest,
  liftBlock,
  logOut,
  offerDelegation,
  openSession,
  openStatusList,
  openTask,
  placeBlock,
  placePause,
  recordAct,
  refuse,
  refuseDelegation,
  refuseOperator,
  refusePause,
  renewGrant,
  revokeGrant,
  revokeSingleToken,
  spendAssertion,
  userExists,
  useSession,
];
