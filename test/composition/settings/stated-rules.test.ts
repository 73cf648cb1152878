/** Compares the sentences of docs/configuration.md about settings that exclude or need each other with the rules. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { WITNESS_KEYS } from '../../support/note-vectors.ts';
import { everySetting, TOOL_KEYS } from './every-setting.ts';
import { errorsWith, onSqlite, PEM, signalsMode, startable, type Texts } from './sources.ts';
import { isSet, type Statement, statedMeanings, statements } from './stated-rules.ts';

const meanings = statedMeanings(readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8'));
const stated = statements(meanings);
const statedOf = new Map([...meanings.keys()].map((key) => [key, stated.filter((one) => one.key === key)]));

/** A valid text for each row of the page. */
const samples: Texts = {
  ...Object.fromEntries(Object.entries(everySetting).map(([key, [text]]) => [key, text])),
  'Service:UpstreamIdp:Issuer': 'https://idp.example',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  'Service:UpstreamIdp:SponsorCheck:BearerToken': 'b'.repeat(32),
  'Service:Database:Provider': 'sqlite',
  'Service:Database:Path': '/var/lib/mandate.db',
  'Service:Signing:Keys:0:Path': '/run/secrets/signing.pem',
  'Service:Signing:Keys:0:Pem': PEM,
  'Service:Signing:Keys:0:Kid': 'a',
  'Service:Audit:Log:Key:Pem': PEM,
  'Service:Audit:Log:Witnesses:0:Url': 'https://witness.example',
  'Service:Audit:Log:Witnesses:0:VKey': WITNESS_KEYS[0],
  'Service:Authorize:ProviderParameters:audience': 'https://mandate.example',
  'Service:Approvals:Resources:0:Audience': 'https://files.example/mcp',
  'Service:Approvals:Resources:0:JwksUri': 'https://files.example/keys',
  'Service:Approvals:Resources:0:Jwks': JSON.stringify(TOOL_KEYS),
};

/** One of the four roles is enough, so no row says that it is required. */
const WAYS_IN = ['Service:Operators:Audience', 'Service:Operators:ClientId'];
const A_ROLE = 'Service:Operators:Roles:Viewer';

interface World {
  readonly title: string;
  readonly texts: Texts;
}

/** Follows the sentences for all settings but the kept ones: sets what they require, and removes what they refuse. */
function followed(start: Texts, kept: readonly string[]): Texts {
  const texts: Record<string, string | undefined> = { ...start };
  for (let round = 0; round < 4; round++) {
    for (const key of meanings.keys()) {
      if (kept.includes(key)) continue;
      if (obligations(texts, key).refused) texts[key] = undefined;
      else if (obligations(texts, key).required && !isSet(texts, key)) texts[key] = samples[key];
    }
    if (!kept.includes(A_ROLE) && WAYS_IN.some((key) => isSet(texts, key))) texts[A_ROLE] = samples[A_ROLE];
  }
  return texts;
}

function obligations(texts: Texts, key: string): { readonly refused: boolean; readonly required: boolean } {
  const due = (of: Statement['obligation']) =>
    (statedOf.get(key) ?? []).some((one) => one.obligation === of && one.holds(texts));
  // What is refused is not required, even if it belongs to a setting that is refused as well.
  return isSet(texts, key)
    ? { refused: due('refused'), required: false }
    : { refused: false, required: due('required') && !due('refused') };
}

function* worlds(): Generator<World> {
  const bases = { 'poll on Postgres': {}, signals: signalsMode, SQLite: onSqlite };
  for (const [name, changes] of Object.entries(bases)) {
    const base = { ...startable, ...changes };
    for (const key of meanings.keys()) {
      const named = (statedOf.get(key) ?? []).flatMap(({ names }) => names);
      for (const mentioned of [undefined, ...new Set(named)]) {
        for (const other of mentioned === undefined ? [undefined] : [undefined, samples[mentioned]]) {
          for (const text of [undefined, samples[key]]) {
            const start = { ...base, ...(mentioned && { [mentioned]: other }), [key]: text };
            const beside = mentioned === undefined ? '' : `, ${mentioned} ${other === undefined ? 'unset' : 'set'}`;
            const texts = followed(start, [key, ...(mentioned === undefined ? [] : [mentioned])]);
            const { refused, required } = obligations(texts, mentioned ?? '');
            // Only the setting of the row is to be wrong.
            if (refused || required) continue;
            yield { title: `${name}: ${key} ${text === undefined ? 'unset' : 'set'}${beside}`, texts };
          }
        }
      }
    }
  }
}

const REFUSED = /^(\S+): is set (?:while|beside) /;
/** A setting that is always required has no condition, and is no rule between settings. */
const REQUIRED =
  /^(\S+): (?:is required while|is not set, nor is Service:|is not set, and neither is any other signing key)/;

describe('docs/configuration.md', () => {
  it('says when each setting is refused and when it is required, in agreement with the rules', function () {
    this.timeout(60_000);
    const seen = new Set<string>();
    for (const { title, texts } of worlds()) {
      const errors = errorsWith(texts);
      const found = (form: RegExp) => [...new Set(errors.flatMap((error) => form.exec(error)?.[1] ?? []))].toSorted();
      const expected = (of: Statement['obligation']) =>
        [...meanings.keys()].filter((key) => obligations(texts, key)[of]).toSorted();
      expect(found(REFUSED), `refused with ${title}`).to.deep.equal(expected('refused'));
      expect(found(REQUIRED), `required with ${title}`).to.deep.equal(expected('required'));
      for (const [at, one] of stated.entries()) {
        if (isSet(texts, one.key) === (one.obligation === 'refused')) seen.add(`${at} ${one.holds(texts)}`);
      }
    }
    for (const [at, { key, obligation, names }] of stated.entries()) {
      for (const held of [true, false]) {
        expect(seen.has(`${at} ${held}`), `${key} ${obligation}, ${names.join()}: ${held}`).to.equal(true);
      }
    }
  });

  it('has these sentences in the forms that are compared, and only settings with a sample', () => {
    for (const key of meanings.keys()) expect(samples[key], key).to.be.a('string');
    // A sentence in another form would be compared with nothing.
    const compared = new Set(stated.map(({ key }) => key));
    const worded = [...meanings].filter(([, meaning]) => /\b([Rr]efused|[Rr]equired) (with|on|under)/.test(meaning));
    expect([...compared]).to.include.members(worded.map(([key]) => key));
    expect(stated.length).to.be.greaterThan(50);
  });
});
