/** Whether the person of a subject token may be acted for now (specification "Sponsor check"). */

import type { Person } from '../../domain/sponsors/subject-token.ts';
import type { Clock } from '../ports/clock.ts';
import type { SponsorDirectory } from '../ports/sponsor-directory.ts';
import type { StorageCondition } from '../ports/storage-condition.ts';
import { type Examination, type Finding, failed, ok, skipped } from './finding.ts';
import { describeProblem, type Problem } from './problem.ts';

export interface PersonSources {
  readonly storage: () => Promise<Pick<StorageCondition, 'findBlocks' | 'isLoggedOut'> | undefined>;
  readonly clock: Clock;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  /** `undefined` in mode `signals`; `unusable` while there is no key to ask with. */
  readonly directory: SponsorDirectory | 'unusable' | undefined;
  readonly problem: () => Problem;
}

export function personExaminations(person: Person, sources: PersonSources): readonly Examination[] {
  return [
    { check: 'person block', examine: () => examineBlock(person, sources) },
    ...(sources.refuseLoggedOut ? [{ check: 'person logout', examine: () => examineLogout(person, sources) }] : []),
    { check: 'person at provider', examine: () => examineStatus(person, sources) },
  ];
}

async function examineBlock({ sponsorKey }: Person, { storage }: PersonSources): Promise<Finding> {
  const opened = await storage();
  if (opened === undefined) return skipped('The database does not answer.');
  const found = await opened.findBlocks(sponsorKey);
  if (found.length === 0) return ok('Nobody has blocked the person.');
  const shown = found.map(({ source, kind }) => `source ${source}, kind ${kind}`).join('; ');
  const byOperator = found.some(({ source }) => source === 'admin');
  return failed(`The person is blocked: ${shown}.`, remedyFor(byOperator, found.length > 1));
}

function remedyFor(byOperator: boolean, several: boolean): string {
  const route = 'DELETE /admin/sponsors/{sponsor_key}/block.';
  if (several) return `Each source lifts its own block only.${byOperator ? ` An operator lifts theirs: ${route}` : ''}`;
  return byOperator ? `An operator can lift it: ${route}` : 'Only its source can lift it.';
}

async function examineLogout(person: Person, { storage, clock }: PersonSources): Promise<Finding> {
  const opened = await storage();
  if (opened === undefined) return skipped('The database does not answer.');
  if (!(await opened.isLoggedOut(person, clock.now()))) return ok('The token is not from before a logout.');
  return failed(
    'The session or the person of the token has logged out: the token starts no task (subject_logged_out).',
    'Have the person sign in again, and present the new token.',
  );
}

async function examineStatus({ subject }: Person, { directory, problem }: PersonSources): Promise<Finding> {
  if (directory === undefined) return skipped('In mode signals the identity provider is not asked.');
  if (directory === 'unusable') return skipped('There is no signing key to ask with.');
  switch (await directory.status(subject, 0)) {
    case 'active':
      return ok('The identity provider says that the person is enabled.');
    case 'sponsor_disabled':
      return failed('The identity provider says that the person is disabled.', 'Enable them there.');
    case 'sponsor_not_found':
      return failed(
        'The identity provider does not know the person by the sub of the token.',
        'See that SponsorCheck:UsersUrl is where a person is at /<sub>.',
      );
    case 'sponsor_status_unavailable':
      return failed(
        `The identity provider did not answer about the person. ${describeProblem(problem()).sentence}`,
        'Run `mandate doctor`, which says more.',
      );
  }
}
