/** The services of the scenarios: one with everything, and three in the states that some examples need. */

import { freePort } from '../../../scripts/free-port.ts';
import { EVERY_CLIENT } from '../../support/authorize/settings.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { answering } from '../../support/loopback.ts';
import { JIRA, type Mandate, type RegisteredAgent, registerAgent, startMandate } from '../../support/mandate.ts';
import { ME_AUDIENCE, presentMeToken } from '../../support/openapi/send-example.ts';
import { STOP_EVERYTHING, TWO_PERSONS } from '../../support/operators.ts';
import { scimSettings } from '../../support/scim-client.ts';
import { type AskingServer, askingServer, jwksOf, SOME_APPROVALS } from '../../support/tool-server/approval-request.ts';
import { EVERY_RECEIVER, startTransmitter, type Transmitter } from '../../support/transmitter.ts';
import { logKeySettings } from '../../support/transparency-log.ts';
import { startUserDirectory } from '../../support/user-directory.ts';

export interface World {
  readonly mandate: Mandate;
  /** The agent `jira-triage` of the examples. */
  readonly agent: RegisteredAgent;
  readonly transmitter: Transmitter;
  /** The tool server that may ask for approvals. */
  readonly asking: AskingServer;
  /** Has no receiver, and an identity provider that does not answer. */
  readonly lonely: Mandate;
  /** Has receivers whose issuers do not answer, allows one user, heeds `may_act`, lets people start tasks and agents hand them over. */
  readonly deaf: Mandate;
  /** Queries a user endpoint that does not answer. No operator may end everything there. */
  readonly polling: Mandate;
  /** Cannot fetch the keys of the tool server. */
  readonly keyless: Mandate;
  /** An agent may ask a person once an hour there. */
  readonly sparing: Mandate;
  readonly metricsUrl: string;
  /** The id of the user in the examples. */
  userId: string;
  stop(): Promise<void>;
}

const JWKS = 'Service:Approvals:Resources:0:Jwks';

/** Settings that turn off every receiver, approvals, tasks that people start, and operators with names. */
export const NO_RECEIVER = Object.fromEntries(
  Object.keys({
    ...EVERY_RECEIVER,
    ...TWO_PERSONS,
    ...STOP_EVERYTHING,
    ...SOME_APPROVALS,
    ...EVERY_CLIENT,
    [JWKS]: '',
  }).map((key) => [key, '']),
);
const SILENT_PROVIDER = { 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' };

export async function startWorld(database: TestDatabase): Promise<World> {
  const started: Pick<Mandate, 'stop'>[] = [];
  const transmitter = await startTransmitter();
  const directory = await startUserDirectory(answering({}, 500));
  const metricsPort = await freePort();
  const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
  const asking = await askingServer(JIRA, clock);
  const mandate: Mandate = await startMandate({
    database,
    settings: {
      'Service:Issuer': 'https://mandate.example',
      'Service:Metrics:Port': String(metricsPort),
      'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
      ...scimSettings,
      ...transmitter.settings,
      'Service:StatusLists:Enabled': 'true',
      'Service:Exchange:ClientIsActor': 'true',
      'Service:Exchange:AudienceParameter': 'true',
      ...logKeySettings(),
      'Service:Me:Audience': ME_AUDIENCE,
      'Service:Delegation:Enabled': 'true',
      ...SOME_APPROVALS,
      'Service:Approvals:Resources:0:Audience': JIRA,
      'Service:Approvals:Resources:0:JwksUri': '',
      [JWKS]: jwksOf(asking),
      ...TWO_PERSONS,
      ...STOP_EVERYTHING,
    },
  });
  started.push(mandate);
  presentMeToken(mandate.provider);
  const another = async (settings: Readonly<Record<string, string>>) => {
    const instance = await mandate.another({
      'Service:Metrics:Port': '',
      'Service:Audit:Log:Key:Pem': '',
      ...settings,
    });
    started.unshift(instance);
    return instance;
  };
  const oneUserAndMayAct = { 'Service:Scim:MaxUsers': '1', 'Service:UpstreamIdp:MayAct': 'honour' };
  return {
    mandate,
    transmitter,
    asking,
    agent: await registerAgent(mandate, { agent_id: 'jira-triage' }),
    lonely: await another({ ...NO_RECEIVER, ...SILENT_PROVIDER }),
    deaf: await another({
      ...EVERY_RECEIVER,
      ...TWO_PERSONS,
      ...SILENT_PROVIDER,
      ...oneUserAndMayAct,
      ...EVERY_CLIENT,
      'Service:Delegation:Enabled': 'true',
    }),
    polling: await another({ ...directory.settings, 'Service:Operators:StopEverything': '' }),
    keyless: await another({
      [JWKS]: '',
      'Service:Approvals:Resources:0:JwksUri': 'https://127.0.0.1:9/keys',
    }),
    sparing: await another({ 'Service:Approvals:MaxQuestionsPerHour': '1' }),
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    userId: '',
    async stop() {
      for (const service of started) await service.stop();
      await directory.server.close();
      await transmitter.stop();
    },
  };
}
