/** Whether the identity provider can be asked about people (specification "Sponsor check", mode `poll`). */

import type { ProviderDescription } from '../ports/provider-metadata.ts';
import type { SponsorDirectory } from '../ports/sponsor-directory.ts';
import { type Examination, type Finding, failed, ok, skipped } from './finding.ts';
import { describeProblem, type Problem } from './problem.ts';

export interface SponsorAsking {
  readonly metadata: () => Promise<ProviderDescription | undefined>;
  /** Gets a service token; why not, where it did not. */
  readonly token: () => Promise<string | undefined>;
  readonly directory: SponsorDirectory;
  /** An id that nobody has. */
  readonly nobody: string;
  /** What came of asking about a person. */
  readonly problem: () => Problem;
  /** What came of asking for a token. */
  readonly tokenStatus: () => number | undefined;
}

/** @param asking `undefined` in mode `signals`; `unusable` while there is no key to sign with */
export function sponsorExamination(asking: () => Promise<SponsorAsking | 'unusable'> | undefined): Examination {
  return {
    check: 'sponsor check',
    async examine() {
      const means = asking();
      if (means === undefined) return skipped('In mode signals the identity provider is not asked about people.');
      const ready = await means;
      return ready === 'unusable' ? skipped('There is no signing key to ask with.') : ask(ready);
    },
  };
}

async function ask({ metadata, token, directory, nobody, problem, tokenStatus }: SponsorAsking): Promise<Finding> {
  if ((await metadata()) === undefined) return skipped("The identity provider's metadata could not be read.");
  const noToken = await token();
  if (noToken !== undefined) {
    const { sentence, remedy } = describeProblem({ sentence: noToken, status: tokenStatus() });
    return failed(
      `There is no service token. ${sentence}`,
      remedy ??
        'See that SponsorCheck:TokenUrl and ClientId are right, that the client authenticates by private_key_jwt with client_credentials, and that the provider reads our keys at /.well-known/jwks.json.',
    );
  }
  switch (await directory.status(nobody, 0)) {
    case 'sponsor_not_found':
      return ok('The identity provider answers about people: an id that nobody has is not found.');
    case 'active':
    case 'sponsor_disabled':
      return failed(
        'The identity provider knows an id that nobody has.',
        'See that SponsorCheck:UsersUrl is its users, each at /<sub>.',
      );
    case 'sponsor_status_unavailable':
      return failed(
        `The identity provider does not say who is there. ${describeProblem(problem()).sentence}`,
        remedyFor(problem()),
      );
  }
}

function remedyFor(problem: Problem): string {
  const { remedy } = describeProblem(problem);
  if (remedy !== undefined) return remedy;
  switch (problem.status) {
    case 403:
      return 'Give the client the permission to look at users (Keycloak: view-users of realm-management).';
    case 401:
      return 'It does not accept the token that it issued: see that TokenUrl and UsersUrl belong to one realm.';
    default:
      return 'See what SponsorCheck:UsersUrl answers; for an id that nobody has it should be 404.';
  }
}
