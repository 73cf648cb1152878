/** `mandate doctor`: its options and its report. */

import type { Readable } from 'node:stream';
import { flag, value } from '../../adapters/cli/argument.ts';
import { type Command, command } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { renderFindings } from '../../adapters/cli/findings-report.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { MAX_SUBJECT_TOKEN } from '../../adapters/http/oauth/requests.ts';
import { discovery } from '../../adapters/identity-provider/discovery.ts';
import { askUsers } from '../../adapters/identity-provider/users-service.ts';
import { providerKeys } from '../../adapters/jose/provider-keys.ts';
import { systemClock, timeLimit } from '../../adapters/platform/system-clock.ts';
import {
  EXAMINATION_LIMIT_MS,
  examineAll,
  failed,
  type NamedFinding,
  skipped,
} from '../../application/doctor/examine.ts';
import { explainSubjectToken } from '../../application/doctor/explain-subject-token.ts';
import { type PersonSources, personExaminations } from '../../application/doctor/sponsors.ts';
import type { ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import type { Person } from '../../domain/sponsors/subject-token.ts';
import { examineEverything } from '../doctor/examine-everything.ts';
import { networkAccess, usersService } from '../doctor/provider-sources.ts';
import { type DoctorSettings, doctorSettings } from '../doctor/settings.ts';
import { closeStorage, configuredSigning, noLog, openCondition } from '../doctor/sources.ts';
import { sponsorCheckChoice, upstreamChoice } from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { processSettings, runReport } from './run-command.ts';

/** The exit code if a check failed. */
const CHECK_FAILED = 3;

interface DoctorRequest {
  /** Whether to explain a subject token from standard input instead of running all checks. */
  readonly subjectToken: boolean;
  /** Whether to check also the person of the token. */
  readonly person: boolean;
  readonly json: boolean;
}

export function doctorCommand(run = doctor): Command {
  return command({
    examples: [
      { line: 'doctor', meaning: 'Print a line for each check, within 15 seconds; needs the settings of the service' },
      {
        line: 'doctor --subject-token - --person < token.txt',
        meaning: "Why a person's access token would be accepted or refused, and whether agents may act for the person",
      },
    ],
    exitCodes: {
      [exitCode.done]: 'no check failed; there may be warnings',
      [exitCode.failed]: 'the examination itself failed, or its report could not be written',
      [CHECK_FAILED]: 'a check failed, or the token would be refused',
    },
    options: (parser) =>
      parser
        .option('subject-token', {
          ...value('--subject-token', readDash),
          // Without nargs, the parser would read `-` as an option.
          nargs: 1,
          describe: 'Explain a subject token instead; only - is accepted: it is read from standard input',
        })
        .option('person', {
          ...flag,
          describe: 'With --subject-token: look for blocks of its person, and ask the identity provider about them',
        })
        .option('json', { ...flag, describe: 'Report as one JSON array' })
        .check(({ person, 'subject-token': token }) => {
          if (person && token === undefined) throw new Error('--person needs --subject-token.');
          return true;
        }),
    run: ({ 'subject-token': token, person, json }, settings) =>
      run({ subjectToken: token !== undefined, person, json }, settings),
  });
}

function readDash(text: string): string {
  if (text === '-') return text;
  throw new Error(
    '--subject-token accepts only -, and reads the token from standard input. Every user of this machine can read arguments',
  );
}

/** The time after the report for pending requests, such as a DNS query. After it, the process exits without them. */
const EXIT_LIMIT_MS = 200;

/** Runs the checks, or explains a subject token, and prints the findings. Resolves with the exit code. */
export async function doctor(request: DoctorRequest, overrides: readonly SettingArgument[]): Promise<number> {
  const code = await runReport(async () => {
    const settings = doctorSettings(processSettings(overrides));
    const clock = systemClock();
    const findings = request.subjectToken
      ? await explainToken(settings, clock, { stdin: process.stdin, person: request.person })
      : await examineEverything(settings, clock);
    process.stdout.write(renderFindings(findings, request.json));
    return findings.some(({ status }) => status === 'failed') ? CHECK_FAILED : exitCode.done;
  });
  setTimeout(() => process.exit(code), EXIT_LIMIT_MS).unref();
  return code;
}

/** The time limit for reading a piped token. A program that pipes a token writes it at once. */
const STDIN_LIMIT_MS = 10_000;

/** Explains a subject token from standard input, with the settings, keys and blocks of the service. */
export async function explainToken(
  settings: DoctorSettings,
  clock: Clock,
  { stdin, person: includesPerson }: { readonly stdin: Readable; readonly person: boolean },
): Promise<readonly NamedFinding[]> {
  const upstream = settings.section('Service:UpstreamIdp');
  if (upstream === undefined) return settings.findings;
  const token = await readToken(stdin);
  if (typeof token !== 'string') return [token];
  const { network } = networkAccess(clock);
  const provider = discovery(upstreamChoice(upstream), network, noLog);
  const described = await provider.current();
  const service = {
    providerKeys: providerKeys(provider, network, clock, noLog),
    clock,
    sharedTime: { latest: () => clock.now() },
    audience: upstream['Service:UpstreamIdp:Audience'],
    foreignAudience: settings.section('Service:Me')?.['Service:Me:Audience'],
    sponsorKeyClaim: upstream['Service:UpstreamIdp:SponsorKeyClaim'],
    refuseBound: upstream['Service:UpstreamIdp:RefuseBoundTokens'],
    scopeClaim: upstream['Service:UpstreamIdp:ScopeClaim'],
    issuer: described?.accessTokenIssuer ?? described?.issuer,
    backchannelLogout: upstream['Service:UpstreamIdp:BackchannelLogout:Audience'] !== undefined,
    endTasksWithoutSession: upstream['Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession'],
    mayAct: upstream['Service:UpstreamIdp:MayAct'],
    actorIssuers: [settings.whole?.['Service:Issuer'], described?.issuer].filter((issuer) => issuer !== undefined),
    agents: () => registeredAgents(settings),
  };
  const { findings, person } = await explainSubjectToken(service, token);
  if (!includesPerson) return findings;
  if (person === undefined) {
    return [
      ...findings,
      { check: 'person', ...skipped('The token would be refused, so its person is not looked up.') },
    ];
  }
  return [...findings, ...(await examinePerson(person, settings, upstream, provider, clock))];
}

/** All registered agents; `undefined` if the database does not answer. */
async function registeredAgents(settings: DoctorSettings): Promise<readonly Agent[] | undefined> {
  const database = settings.section('Service:Database');
  const opened = database && openCondition(database);
  const read = async () => {
    const storage = await opened;
    return storage?.kind === 'opened' ? storage.condition.agents.list({}) : undefined;
  };
  const agents = await timeLimit(
    read().catch(() => undefined),
    EXAMINATION_LIMIT_MS,
  );
  await closeStorage(opened);
  return agents;
}

async function examinePerson(
  person: Person,
  settings: DoctorSettings,
  upstream: SettingsSection<'Service:UpstreamIdp'>,
  provider: ProviderMetadata,
  clock: Clock,
): Promise<readonly NamedFinding[]> {
  const database = settings.section('Service:Database');
  const opened = database && openCondition(database);
  const sources: PersonSources = {
    async storage() {
      const storage = await opened;
      return storage?.kind === 'opened' ? storage.condition : undefined;
    },
    clock,
    refuseLoggedOut: upstream['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
    askUsers: await usersAsked(settings, upstream, provider, clock),
  };
  const found = await examineAll(personExaminations(person, sources), timeLimit);
  await closeStorage(opened);
  return found;
}

async function usersAsked(
  settings: DoctorSettings,
  upstream: SettingsSection<'Service:UpstreamIdp'>,
  provider: ProviderMetadata,
  clock: Clock,
): Promise<PersonSources['askUsers']> {
  const chosen = sponsorCheckChoice(upstream);
  if (chosen.mode !== 'poll') return undefined;
  const signing = settings.section('Service:Signing');
  const keys = signing && (await configuredSigning(signing, settings.isDevelopment).signingKeys());
  if (keys === undefined) return 'unusable';
  const service = usersService(chosen, keys, provider, networkAccess(clock));
  return (subject) => askUsers(service, subject);
}

/** Reads the token without the line feed after it, and stops reading when it is too long. */
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
