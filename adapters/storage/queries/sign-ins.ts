/** The query of what sign-ins show of the client at the identity provider (`mandate doctor`). */

import type { SignInPlace, SignInsQuestion, SignInsSeen } from '../../../application/ports/storage.ts';
import type { SignInDemand } from '../../../domain/denial.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { LedgerEvent } from '../../../domain/ledger/record.ts';
import { storable } from '../rows/column.ts';
import type { Query } from './query.ts';

const DENIED: Readonly<Record<SignInPlace, LedgerEvent>> = {
  me: 'me.denied',
  operator: 'admin.denied',
  authorization: 'authorization.denied',
};
/** Of some kinds the ledger has each sign-in (`recordedDetail` in domain/sessions/session.ts). */
const SIGNED_IN: Readonly<Record<SignInPlace, LedgerEvent | null>> = {
  me: null,
  operator: 'operator.signed_in',
  // Only a person whose sign-in and access token were accepted can answer.
  authorization: 'authorization.allowed',
};
/** The reasons of a refused access token of the provider begin in this way (domain/denial.ts). */
const OF_TOKENS = 'subject_';
const DEMANDED: SignInDemand = 'sign_in_dpop_demanded';

interface SeenRow {
  readonly began: Instant | null;
  readonly recorded: Instant | null;
  readonly demanded: Instant | null;
  readonly token_refused: Instant | null;
  readonly token_reason: string | null;
}

/** Expired sessions count until they are deleted: a sign-in began each. */
export const signInsSeen: Query<SignInsQuestion, SignInsSeen> = {
  name: 'condition_sign_ins',
  text: `select (select max(created_at) from sessions where kind = :kind and iss = :iss) as began,
    (select ts from ledger where event = :signed_in and ts >= :since and substr(detail, 1, length(:holder)) = :holder
      order by ts desc, seq desc limit 1) as recorded,
    (select ts from ledger where event = :event and reason = :reason and ts >= :since
      order by ts desc, seq desc limit 1) as demanded,
    (select ts from ledger where event = :event_of_tokens and substr(reason, 1, length(:of_tokens)) = :of_tokens
      and ts >= :since order by ts desc, seq desc limit 1) as token_refused,
    (select reason from ledger where event = :event_of_tokens and substr(reason, 1, length(:of_tokens)) = :of_tokens
      and ts >= :since order by ts desc, seq desc limit 1) as token_reason`,
  values: ({ kind, issuer, since }, { instant }) => ({
    kind,
    iss: storable('iss', issuer),
    signed_in: SIGNED_IN[kind],
    // The first member of the record's detail. A request of a program has the upstream provider only.
    holder: kind === 'authorization' ? '' : `${new URLSearchParams({ iss: issuer })}&`,
    event: DENIED[kind],
    reason: DEMANDED,
    // Access tokens with which a person calls `/me` say nothing of a sign-in.
    event_of_tokens: kind === 'authorization' ? DENIED[kind] : null,
    of_tokens: OF_TOKENS,
    since: instant(since),
  }),
  read([row]: readonly SeenRow[]) {
    const [began, recorded] = [row?.began ?? undefined, row?.recorded ?? undefined];
    const lastAt = began === undefined || (recorded !== undefined && recorded > began) ? recorded : began;
    const [at, reason] = [row?.token_refused ?? undefined, row?.token_reason ?? undefined];
    return {
      lastAt,
      dpopDemandedAt: row?.demanded ?? undefined,
      tokenRefused: at === undefined || reason === undefined ? undefined : { at, reason },
    };
  },
};
