/** The rows of the paths that settings switch on, over surfaces that answer nothing. */

import { approvalPath } from '../../adapters/http/oauth/endpoints.ts';
import { type ClientRegistrationSurface, registrationPath } from '../../adapters/http/oauth/register.ts';
import { type LogSurface, logPath } from '../../adapters/http/public/log.ts';
import { type StatusListSurface, statusListPath } from '../../adapters/http/public/status-lists.ts';
import { ME_ROW } from '../../adapters/http/routes.ts';
import { capturedLog } from './captured-log.ts';

const oauth = {
  optionalParameters: { clientIsActor: false, audienceParameter: false, purpose: 'off', authorizationCode: false },
};

export const optionalRows = {
  statusLists: statusListPath({} as StatusListSurface, capturedLog()),
  approvals: approvalPath(oauth as Parameters<typeof approvalPath>[0], {} as Parameters<typeof approvalPath>[1]),
  log: logPath({ isPublic: true } as LogSurface),
  me: ME_ROW,
  registration: registrationPath({ log: capturedLog() } as unknown as ClientRegistrationSurface),
};
