/**
 * A client asks a person to start a task (RFC 6749 §4.1.1). The way of a request:
 *
 * 1. begin.ts judges the request, and sends the browser to the identity provider. Nothing is stored: the browser keeps the request.
 * 2. come-back.ts takes the person's sign-in and access token, checks what an exchange checks, and stores the request.
 * 3. answer.ts takes the person's answer. With *Allow* the client gets a code.
 * 4. application/token/redeem.ts takes the code, checks all of it again, and starts the task.
 *
 * judge-request.ts has the checks of the request itself.
 */

import type { EndCounts } from '../../domain/authorization/authorization.ts';
import type { DenialReason } from '../../domain/denial.ts';
import type { SignInDenial } from '../../domain/sign-in-denial.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { AnonymousDenials } from '../ledger/anonymous-denials.ts';
import type { Denial } from '../outcome.ts';
import type { Authorizations } from '../ports/authorizations.ts';
import type { SignIn, SignInAttempt } from '../ports/identity-provider.ts';
import type { HeldPermit } from '../ports/keys.ts';
import {
  type AnswerAddress,
  type AskedAuthorization,
  judgeRequest,
  type RequestJudging,
  recordedReason,
  type UnaddressedReason,
} from './judge-request.ts';

export interface Beginning extends RequestJudging {
  readonly provider: SignIn;
  readonly authorizations: Pick<Authorizations, 'countEnds'>;
  readonly anonymous: Pick<AnonymousDenials, 'record'>;
  /** `Service:Authorize:MaxAuthAge`, in seconds. */
  readonly maxAuthAge: number | undefined;
}

/** The secrets of a sign-in, and how far it has come. */
export type BegunSignIn = Pick<SignInAttempt, 'state' | 'nonce' | 'codeVerifier'> & {
  /** Whether an earlier sign-in for the same request was too old. */
  readonly isSecond: boolean;
};

export type BeginOutcome =
  /** A page. The redirect URI is not known. */
  | { readonly kind: 'unaddressed'; readonly reason: UnaddressedReason }
  /** The answer goes to the client. */
  | { readonly kind: 'refused'; readonly to: AnswerAddress; readonly denial: Denial }
  /** A page, with a link back to the client. */
  | { readonly kind: 'no_sign_in'; readonly to: AnswerAddress; readonly reason: SignInDenial }
  /** `ends`: how many there were when the request began. */
  | { readonly kind: 'begun'; readonly to: AnswerAddress; readonly address: string; readonly ends: EndCounts };

/** @throws StorageUnavailable */
export async function beginAuthorization(
  service: Beginning,
  asked: AskedAuthorization,
  signIn: BegunSignIn,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<BeginOutcome> {
  const judged = await judgeRequest(service, asked, trace, permit);
  // No person and no client has proved who they are, so the records name neither.
  const record = async (reason: DenialReason | SignInDenial) => {
    await service.anonymous.record({ event: 'authorization.denied', reason }, trace);
  };
  if (judged.kind === 'unaddressed') {
    await record(recordedReason(judged.reason));
    return judged;
  }
  if (judged.kind === 'refused') {
    await record(judged.denial.reason);
    return judged;
  }
  const { to, request, permitted, client } = judged;
  const ends = await service.authorizations.countEnds(client.agent.agentId);
  const { isSecond, ...secrets } = signIn;
  const begun = await service.provider.begin(
    {
      ...secrets,
      maxAge: service.maxAuthAge,
      scopes: permitted,
      ...((request.prompt.login || isSecond) && { prompt: 'login' as const }),
    },
    trace,
  );
  if (begun.kind === 'begun') return { ...begun, to, ends };
  await record(begun.reason);
  return { kind: 'no_sign_in', to, reason: begun.reason };
}
