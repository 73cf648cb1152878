import { expect } from 'chai';
import { catalogue, removedSettings } from '../../../composition/settings/catalogue.ts';
import type { Setting } from '../../../composition/settings/setting.ts';
import { computedDefaults } from '../../../composition/settings/settings.ts';

const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);

describe('The catalogue of settings', () => {
  it('has defaults that are themselves accepted', () => {
    for (const [key, setting] of entries) {
      if (setting.presence === 'defaulted') {
        expect(setting.type.read(setting.default ?? ''), key).to.include({ kind: 'read' });
      }
    }
  });

  it('computes a default for each setting that says so, and for no other', () => {
    const computed = entries.filter(([, setting]) => setting.presence === 'computed').map(([key]) => key);
    expect(Object.keys(computedDefaults)).to.have.members(computed);
  });

  it('asks for nothing in a list but by a rule, since a list may be empty', () => {
    for (const [key, setting] of entries) {
      if (key.includes(':N:')) expect(setting.presence, key).to.equal('optional');
    }
  });

  it('has keys that differ by more than case, and none of a removed setting', () => {
    const keys = entries.map(([key]) => key.toLowerCase());
    expect(new Set(keys).size).to.equal(keys.length);
    expect(Object.keys(catalogue)).not.to.include.members(Object.keys(removedSettings));
  });

  it('says in whole sentences what each setting means', () => {
    for (const [key, { meaning }] of entries) expect(meaning, key).to.match(/^[A-Z`].*\.$/);
  });
});
