/**
 * Examines whether the identity provider answers about people, and whether the service may act for one person now
 * (specification "Sponsor check").
 */

import { travelsInTheClear } from '../../domain/address.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import type { KnownStatus, UsersTrial } from '../ports/identity-provider.ts';
import type { Problem } from '../ports/network.ts';
import type { Clock } from '../ports/runtime.ts';
import type { StorageCondition } from '../ports/storage.ts';
import { type Examination, type Finding, failed, ok, skipped, warning } from './examine.ts';
import { describeProblem } from './problem.ts';
import type { SignerMetadata } from './provider.ts';

/** How the service asks the identity provider about people in mode `poll`. */
export interface SponsorQueries {
  readonly metadata: () => Promise<SignerMetadata>;
  /** Whether the request for a service token names the issuer of the metadata. */
  readonly needsMetadata: boolean;
  /** `SponsorCheck:UsersUrl`, and `TokenUrl` if it is set. */
  readonly addresses: readonly string[];
  /** Whether the service has a configured token, and requests none. */
  readonly hasBearerToken: boolean;
  /** Asks about an id that no person has. */
  readonly tryUsers: () => Promise<UsersTrial>;
  /** Whether `Service:Issuer` answers with the signing keys of these settings, which the provider reads there. */
  readonly publishesKeys: () => Promise<boolean>;
}

/** @param openQueries returns `undefined` in mode `signals`; resolves with `unusable` if there is no signing key */
export function sponsorExamination(openQueries: () => Promise<SponsorQueries | 'unusable'> | undefined): Examination {
  return {
    check: 'sponsor check',
    async examine() {
      const opening = openQueries();
      if (opening === undefined) return skipped('In mode signals the identity provider is not asked about people.');
      const queries = await opening;
      return queries === 'unusable' ? skipped('There is no signing key to ask with.') : examineQueries(queries);
    },
  };
}

async function examineQueries(queries: SponsorQueries): Promise<Finding> {
  if (queries.needsMetadata && 'problem' in (await queries.metadata()))
    return skipped("The identity provider's metadata could not be read.");
  const trial = await queries.tryUsers();
  switch (trial.kind) {
    case 'no_token': {
      const { sentence, remedy } = describeProblem(trial);
      if (REFUSALS.includes(trial.status) && !(await queries.publishesKeys())) {
        return warning(
          `There is no service token, and Service:Issuer does not answer with the keys by which the provider knows the client. ${sentence}`,
          'Start the service, see that the provider reaches /.well-known/jwks.json at Service:Issuer, and run this again.',
        );
      }
      return failed(
        `There is no service token. ${sentence}`,
        remedy ??
          'See that SponsorCheck:TokenUrl and ClientId are right, that the client authenticates by private_key_jwt with client_credentials, and that the provider reads our keys at /.well-known/jwks.json. A provider that requires a scope needs SponsorCheck:Scope; one that accepts only its token endpoint as aud needs UpstreamIdp:ClientAssertionAudience.',
      );
    }
    case 'not_found':
      if (!trial.knowsPaths) {
        return warning(
          'The users service has no user with an unused id. It answers a path that it cannot have in the same way, so a wrong SponsorCheck:UsersUrl would look the same.',
          'Look up one person: `mandate doctor --subject-token - --person`, with a token of theirs.',
        );
      }
      return queries.addresses.some((address) => travelsInTheClear(new URL(address)))
        ? warning(
            'The identity provider answers about people, but over http: an attacker on the network can read the service token, and answer that a disabled person is enabled.',
            'Let SponsorCheck:UsersUrl, and TokenUrl if it is set, be https URLs.',
          )
        : ok('The identity provider answers about people: it finds no user with an unused id.');
    case 'found':
      return failed(
        'The identity provider finds a user with an unused id.',
        'See that SponsorCheck:UsersUrl is its users, each at /<sub>.',
      );
    case 'no_answer':
      return failed(
        `The identity provider does not say who is there. ${describeProblem(trial).sentence}`,
        remedyForQuery(trial, queries.hasBearerToken),
      );
  }
}

/** The statuses with which a token endpoint refuses a client whose key it cannot read. */
const REFUSALS: readonly (number | undefined)[] = [400, 401, 403];

function remedyForQuery(problem: Problem, hasBearerToken: boolean): string {
  const { remedy } = describeProblem(problem);
  if (remedy !== undefined) return remedy;
  switch (problem.status) {
    case 403:
      if (hasBearerToken) return 'See that SponsorCheck:BearerToken may read each person.';
      return 'Give the client the permission to look at users (Keycloak: view-users of realm-management).';
    case 401:
      if (hasBearerToken) return 'See that SponsorCheck:BearerToken is the one that the users service accepts.';
      return 'It does not accept the token that it issued: see that TokenUrl and UsersUrl belong to one realm.';
    case 404:
      return 'See that SponsorCheck:UsersUrl is the path of the users. For an unknown id, the users service itself must answer 404 with an empty body or a JSON object.';
    default:
      return 'See what SponsorCheck:UsersUrl answers; for an unused id it should be 404.';
  }
}

/** The sources for the examinations of one person. */
export interface PersonSources {
  readonly storage: () => Promise<Pick<StorageCondition, 'sponsors' | 'isLoggedOut'> | undefined>;
  readonly clock: Clock;
  /** `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut`. */
  readonly refuseLoggedOut: boolean;
  /** Asks the provider about the person. `undefined` in mode `signals`; `unusable` if there is no signing key. */
  readonly askUsers:
    | ((subject: string) => Promise<{ readonly answer: KnownStatus } | Problem>)
    | 'unusable'
    | undefined;
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
  const found = await opened.sponsors.findBlocks(sponsorKey);
  if (found.length === 0) return ok('The person has no block.');
  const blocks = found.map(({ source, kind }) => `source ${source}, kind ${kind}`).join('; ');
  const byOperator = found.some(({ source }) => source === 'admin');
  return failed(`The person is blocked: ${blocks}.`, remedyForBlock(byOperator, found.length > 1));
}

function remedyForBlock(byOperator: boolean, several: boolean): string {
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

async function examineStatus({ subject }: Person, { askUsers }: PersonSources): Promise<Finding> {
  if (askUsers === undefined) return skipped('In mode signals the identity provider is not asked.');
  if (askUsers === 'unusable') return skipped('There is no signing key to ask with.');
  const asked = await askUsers(subject);
  if ('problem' in asked) {
    return failed(
      `The identity provider did not answer about the person. ${describeProblem(asked).sentence}`,
      'Run `mandate doctor`, which says more.',
    );
  }
  switch (asked.answer) {
    case 'active':
      return ok('The identity provider says that the person is enabled.');
    case 'sponsor_disabled':
      return failed('The identity provider says that the person is disabled.', 'Enable them there.');
    case 'sponsor_not_found':
      return failed(
        'The identity provider does not know the person by the sub of the token.',
        'See that SponsorCheck:UsersUrl is where a person is at /<sub>.',
      );
  }
}
