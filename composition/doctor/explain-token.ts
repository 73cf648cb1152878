/** A subject token from standard input, explained with the settings, keys and lists of the service. */

import type { Readable } from 'node:stream';
import { MAX_SUBJECT_TOKEN } from '../../adapters/http/oauth/requests.ts';
import { timeLimit } from '../../adapters/system/time-limit.ts';
import { validateSubjectToken } from '../../application/authentication/validate-subject-token.ts';
import { examineAll } from '../../application/doctor/examine-all.ts';
import { explainSubjectToken } from '../../application/doctor/explain-subject-token.ts';
import { failed, type NamedFinding, skipped } from '../../application/doctor/finding.ts';
import { heardLog } from '../../application/doctor/heard.ts';
import { type PersonSources, personExaminations } from '../../application/doctor/person-examinations.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { chosenSponsorCheck } from '../settings/alternatives.ts';
import { configuredSigning } from './configured-signing.ts';
import type { DoctorSettings } from './doctor-settings.ts';
import { askingWith, identityProvider } from './examinations.ts';
import { openCondition } from './open-condition.ts';
import type { AskedSigner, Asking } from './signers.ts';
import { sponsorAsking } from './sponsor-asking.ts';

/** Whoever writes a token into a pipe does so at once. */
const STDIN_LIMIT_MS = 10_000;
const CLOSE_LIMIT_MS = 1000;

export async function explainToken(
  settings: DoctorSettings,
  clock: Clock,
  { stdin, person: isPersonAsked }: { readonly stdin: Readable; readonly person: boolean },
): Promise<readonly NamedFinding[]> {
  const upstream = settings.section('Service:UpstreamIdp');
  if (upstream === undefined) return settings.findings;
  const token = await readToken(stdin);
  if (typeof token !== 'string') return [token];
  const asking = askingWith(clock);
  const provider = identityProvider(upstream, asking);
  const service = {
    providerKeys: provider.keys,
    clock,
    audience: upstream['Service:UpstreamIdp:Audience'],
    sponsorKeyClaim: upstream['Service:UpstreamIdp:SponsorKeyClaim'],
    issuer: (await provider.metadata())?.issuer,
  };
  const explained = await explainSubjectToken(service, token);
  if (!isPersonAsked) return explained;
  const outcome = await validateSubjectToken(service, token);
  if (outcome.kind === 'denied') {
    return [...explained, { check: 'person', ...skipped('Nobody is asked about by a token that would be refused.') }];
  }
  const refuseLoggedOut = upstream['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'];
  return [...explained, ...(await examinePerson(outcome.value, settings, provider, asking, refuseLoggedOut))];
}

async function examinePerson(
  person: Person,
  settings: DoctorSettings,
  provider: AskedSigner,
  asking: Asking,
  refuseLoggedOut: boolean,
): Promise<readonly NamedFinding[]> {
  const database = settings.section('Service:Database');
  const opened = database && openCondition(database, heardLog());
  const condition = async () => {
    const storage = await opened;
    return storage?.kind === 'opened' ? storage.condition : undefined;
  };
  const { clock } = asking;
  const sources = { storage: condition, clock, refuseLoggedOut, ...(await askingAbout(settings, provider, asking)) };
  const found = await examineAll(personExaminations(person, sources), timeLimit);
  await timeLimit(
    condition()
      .then((storage) => storage?.close())
      .catch(() => undefined),
    CLOSE_LIMIT_MS,
  );
  return found;
}

async function askingAbout(
  settings: DoctorSettings,
  provider: AskedSigner,
  asking: Asking,
): Promise<Pick<PersonSources, 'directory' | 'problem'>> {
  const problem = () => ({ sentence: undefined, status: undefined });
  const upstream = settings.section('Service:UpstreamIdp');
  const chosen = upstream && chosenSponsorCheck(upstream);
  if (chosen?.mode !== 'poll') return { directory: undefined, problem };
  const signing = settings.section('Service:Signing');
  const keys = signing && (await configuredSigning(signing, settings.isDevelopment).signingKeys());
  return keys === undefined ? { directory: 'unusable', problem } : sponsorAsking(chosen, keys, provider, asking);
}

/** Without the line feed after it. What is too long is not read on. */
async function readToken(stdin: Readable): Promise<string | NamedFinding> {
  const text = await timeLimit(readUpTo(stdin, MAX_SUBJECT_TOKEN + 2), STDIN_LIMIT_MS);
  stdin.destroy();
  const token = text?.trim() ?? '';
  if (token === '') {
    return {
      check: 'token form',
      ...failed('Standard input held no token.', 'Write the token to it: `… doctor --subject-token - < token.txt`.'),
    };
  }
  if (token.length <= MAX_SUBJECT_TOKEN) return token;
  const sentence = `The token is longer than ${MAX_SUBJECT_TOKEN} characters, and would be refused with invalid_request.`;
  return { check: 'token form', ...failed(sentence, 'Have the provider put less into its access tokens.') };
}

async function readUpTo(stdin: Readable, length: number): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > length) break;
  }
  return text;
}
