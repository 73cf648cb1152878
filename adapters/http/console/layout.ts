/** The document of every page of the console: who is signed in, the navigation, a notice, and the way to the kill switch. */

import { type OperatorPerson, type OperatorRole, roleFor } from '../../../domain/operators/operator.ts';
import { visibleWords } from '../../../domain/visible.ts';
import { adminRoutes } from '../admin/roles.ts';
import type { Asset } from '../browser/assets.ts';
import { documentOf } from '../browser/document.ts';
import { type Html, html, type Insert } from '../browser/html.ts';
import type { BrowserSession } from '../browser/session.ts';
import { form, named } from '../browser/words.ts';
import { assets } from './assets.ts';
import { screens } from './screens.ts';

export interface Frame {
  readonly title: string;
  /** The path of the screen that the navigation marks. */
  readonly path?: string | undefined;
  /** `undefined` on a page without a session. */
  readonly signedIn?: Pick<BrowserSession<OperatorPerson>, 'holder' | 'formToken' | 'signsOutEverywhere'> | undefined;
  /** Says what the last form has changed. */
  readonly notice?: string | undefined;
  readonly scripts?: readonly Asset[] | undefined;
  /** The address that the browser opens next. */
  readonly opens?: string | undefined;
}

/** @returns a whole document */
export function renderDocument(frame: Frame, body: Html): string {
  const { title, path, signedIn, notice, scripts = [], opens } = frame;
  const { mark, common, style, views, records } = assets;
  const styles = [common, style, views, records].map(({ path }) => path);
  return documentOf(
    { language: 'en', title: `${title} · Mandate console`, icon: mark.path, styles, opens },
    html`<a class="skip button" href="#main">Skip to the content</a>
${signedIn === undefined ? bareHeader() : header(signedIn, path)}
<main id="main">
<h1>${title}</h1>
<div role="status">${notice !== undefined && html`<p class="banner good">${notice}</p>`}</div>
${body}
</main>
${signedIn?.signsOutEverywhere && signOutEverywhere(signedIn.formToken)}
${scripts.map(({ path }) => html`<script type="module" src="${path}"></script>`)}`,
  );
}

function bareHeader(): Html {
  return html`<header class="bar"><p class="brand"><img src="${assets.mark.path}" alt=""> Mandate console</p></header>`;
}

function header({ holder: operator, formToken }: NonNullable<Frame['signedIn']>, current: string | undefined): Html {
  const may = (role: OperatorRole) => roleFor(operator, role) !== undefined;
  const links = Object.values(screens).flatMap((screen): Insert[] =>
    screen.inNavigation && may(adminRoutes[screen.route])
      ? [html`<li>${link(screen.path, screen.title, screen.path === current, '')}</li>`]
      : [],
  );
  const { stop } = screens;
  return html`<header class="bar">
<p class="brand"><img src="${assets.mark.path}" alt=""> <span>Mandate</span></p>
<nav aria-label="Screens"><ul>${links}</ul></nav>
${may(adminRoutes[stop.route]) && link(stop.path, stop.title, current === stop.path, 'button kill')}
<div class="who" data-signed-in><p title="${visibleWords(operator.subject)}: ${operator.roles.join(', ')}">${named(operator.subject)} <span class="quiet">${operator.roles.join(', ')}</span></p>
${form(formToken, '/sign-out', html`<button class="plain">Sign out</button>`)}</div>
</header>`;
}

function signOutEverywhere(formToken: string): Html {
  return html`<footer data-signed-in><details class="ask"><summary class="button">Sign out everywhere</summary>
<p>This ends your session here and at the identity provider. Tasks that agents began for you in that session may end with it. The other button, <em>Sign out</em>, ends your session here only.</p>
${form(formToken, '/sign-out', html`<input type="hidden" name="everywhere" value="yes"><button>Sign out here and at the identity provider</button>`)}</details></footer>`;
}

function link(path: string, title: string, isCurrent: boolean, style: string): Html {
  return isCurrent
    ? html`<a class="${style}" href="${path}" aria-current="page">${title}</a>`
    : html`<a class="${style}" href="${path}">${title}</a>`;
}
