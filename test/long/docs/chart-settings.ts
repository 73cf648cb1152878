/** Each setting of the catalogue in the values of the chart: it is rendered, or refused by name. */

import { expect } from 'chai';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { variableOf } from '../../../composition/settings/startup-error.ts';
import { everySetting, TOOL_KEYS } from '../../composition/settings/every-setting.ts';
import { refusal, render } from '../../support/kubernetes/helm.ts';
import { objectOf, settingsOf, variablesOf } from '../../support/kubernetes/rendered-objects.ts';
import {
  isNamed,
  isNumbered,
  MAX_NUMBER,
  settingsOfValues,
  withName,
  withNumber,
} from '../../support/kubernetes/settings-schema.ts';
import { values, withSettings } from '../../support/kubernetes/values.ts';
import { WITNESS_KEYS } from '../../support/note-vectors.ts';

type Texts = Readonly<Record<string, string>>;

const NUMBERS = [0, 10, MAX_NUMBER];
/** A text for each setting of a list, by its number in NUMBERS. */
const OF_LISTS: Readonly<Record<string, (at: number) => string>> = {
  'Service:Approvals:Resources:N:Audience': (at) => `https://tools-${at}.example/mcp`,
  'Service:Approvals:Resources:N:JwksUri': (at) => `https://tools-${at}.example/keys`,
  'Service:Approvals:Resources:N:Jwks': () => JSON.stringify(TOOL_KEYS),
  'Service:Audit:Log:Witnesses:N:Url': (at) => `https://witness-${at}.example`,
  'Service:Audit:Log:Witnesses:N:VKey': (at) => WITNESS_KEYS[at] ?? '',
};
/** A text for each setting with a name in its key, by the name. */
const OF_NAMES: Readonly<Record<string, Texts>> = {
  'Service:Authorize:ProviderParameters:<name>': { audience: 'https://mandate.example', kc_idp_hint: 'staff' },
};
/** Settings that exclude another one. Each is rendered without it. */
const INSTEAD: Readonly<Record<string, string>> = {
  'Service:UpstreamIdp:Issuer': 'Service:UpstreamIdp:MetadataUrl',
  'Service:Approvals:Resources:N:Jwks': 'Service:Approvals:Resources:N:JwksUri',
};

const keys = Object.keys(catalogue).filter((key) => settingsOfValues.includes(variableOf(key)));

/** The text of a setting at each number of NUMBERS, by variable. */
function textsOf(key: string): Texts {
  const variable = variableOf(key);
  if (isNumbered(variable)) {
    return Object.fromEntries(NUMBERS.map((number, at) => [withNumber(variable, number), OF_LISTS[key]?.(at) ?? '']));
  }
  const named = OF_NAMES[key];
  if (named !== undefined) {
    return Object.fromEntries(Object.entries(named).map(([name, text]) => [withName(variable, name), text]));
  }
  const text = everySetting[key]?.[0] ?? values.settings[variable] ?? catalogue[key as keyof typeof catalogue].default;
  return { [variable]: String(text) };
}

const textsWithout = (left: readonly string[]): Texts =>
  Object.assign({}, ...keys.filter((key) => !left.includes(key)).map(textsOf));

export function chartSettings(): void {
  describe('The Helm chart', function () {
    this.timeout(120_000);
    const secrets = Object.fromEntries(
      Object.entries(everySetting).flatMap(([key, [text]]) =>
        catalogue[key as keyof typeof catalogue].type.secret && text !== undefined && !/Database|ApiKey/.test(key)
          ? [[variableOf(key), text]]
          : [],
      ),
    );
    for (const [what, left] of [
      ['those that come first', Object.values(INSTEAD)],
      ['their alternatives', Object.keys(INSTEAD)],
    ] as const) {
      it(`renders every setting of the catalogue, with ${what} of two that exclude each other`, async () => {
        const texts = textsWithout(left);
        const unset = Object.fromEntries(left.map((key) => [variableOf(key), undefined]));
        const objects = await render(withSettings({ ...unset, ...texts }));
        expect(variablesOf(objectOf(objects, 'Deployment'))).to.deep.include(texts);
        const read = settingsOf(objects, secrets);
        expect(read).to.deep.include({ kind: 'valid', unknown: [] });
        if (read.kind === 'invalid') return;
        for (const list of ['Service:Approvals:Resources', 'Service:Audit:Log:Witnesses'] as const) {
          expect(
            read.settings[list].map(({ index }) => index),
            list,
          ).to.deep.equal(NUMBERS);
        }
      });
    }

    it('renders each setting in one of the two', () => {
      const rendered = [Object.values(INSTEAD), Object.keys(INSTEAD)].flatMap((left) =>
        Object.entries(textsWithout(left)),
      );
      const names = settingsOfValues.flatMap((name) => {
        if (isNamed(name))
          return Object.values(OF_NAMES)
            .flatMap(Object.keys)
            .map((each) => withName(name, each));
        return isNumbered(name) ? NUMBERS.map((number) => withNumber(name, number)) : [name];
      });
      expect(new Set(rendered.map(([name]) => name))).to.deep.equal(new Set(names));
      for (const [name, text] of rendered) expect(text, name).not.to.equal('');
    });

    it('refuses every other setting, and names it: a secret, and those that the templates set', async () => {
      const others = Object.keys(catalogue)
        .map(variableOf)
        .filter((name) => !settingsOfValues.includes(name));
      expect(others).to.include.members(['HOST', 'Service__Admin__ApiKey', 'Service__Scim__BearerToken']);
      const said = await refusal(withSettings(Object.fromEntries(others.map((name) => [name, 'a']))));
      for (const name of others) expect(said).to.match(new RegExp(`\\b${name}\\b`));
    });

    it('refuses a setting with a name that no parameter has', async () => {
      const names = settingsOfValues.filter(isNamed).flatMap((name) => [withName(name, ''), withName(name, 'a=b')]);
      expect(names).to.have.length(2);
      const said = await refusal(withSettings(Object.fromEntries(names.map((name) => [name, 'a']))));
      for (const name of names) expect(said).to.include(name);
    });

    for (const number of ['N', '64', '100', '00', '010', '-1', '1x', '']) {
      it(`refuses the settings of lists with ${number === '' ? 'no number' : number} for the number`, async () => {
        const names = settingsOfValues.filter(isNumbered).map((name) => withNumber(name, number));
        expect(names).to.have.length.greaterThan(4);
        const said = await refusal(withSettings(Object.fromEntries(names.map((name) => [name, 'https://a.example']))));
        for (const name of names) expect(said).to.match(new RegExp(`${name}\\b`));
      });
    }
  });
}
