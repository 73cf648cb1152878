/** The rows of `/oauth2/authorize` for the application, with `Service:Authorize:ClientId`. */

import type { RefusalPages } from '../admission/refusals.ts';
import { refusalPages } from '../browser/faults.ts';
import { languageOf, languages } from '../browser/language.ts';
import { AUTHORIZE_ROW, issuerPath, type OptionalPath } from '../routes.ts';
import { type AuthorizeSurface, authorizeRouter } from './authorize-router.ts';
import { renderMessage } from './page.ts';

export interface AuthorizePath {
  readonly path: OptionalPath;
  /** What a browser sees whose request was refused admission. */
  readonly refusalPages: RefusalPages;
}

export function authorizePath(surface: AuthorizeSurface): AuthorizePath {
  const base = issuerPath(surface.issuer);
  return {
    path: { ...AUTHORIZE_ROW, router: authorizeRouter(surface), advertisedAs: 'authorization_endpoint' },
    refusalPages: refusalPages(languages, languageOf, (reason, language) => renderMessage({ base, language }, reason)),
  };
}
