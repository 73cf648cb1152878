import { expect } from 'chai';
import { catalogue, removedSettings } from '../../../composition/settings/catalogue.ts';
import { computedDefaults } from '../../../composition/settings/defaults.ts';
import type { Setting } from '../../../composition/settings/setting.ts';

const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);

describe('The catalogue of settings', () => {
  it('has only defaults that its settings accept', () => {
    for (const [key, setting] of entries) {
      if (setting.presence === 'defaulted') {
        expect(setting.type.read(setting.default ?? ''), key).to.include({ kind: 'read' });
      }
    }
  });

  it('has a computed default for exactly the settings that declare one', () => {
    const computed = entries.filter(([, setting]) => setting.presence === 'computed').map(([key]) => key);
    expect(Object.keys(computedDefaults)).to.have.members(computed);
  });

  it('requires no member of a list, because a list may be empty', () => {
    for (const [key, setting] of entries) {
      if (key.includes(':N:')) expect(setting.presence, key).to.equal('optional');
    }
  });

  it('has keys that differ by more than letter case, and no removed key', () => {
    const keys = entries.map(([key]) => key.toLowerCase());
    expect(new Set(keys).size).to.equal(keys.length);
    expect(Object.keys(catalogue)).not.to.include.members(Object.keys(removedSettings));
  });

  it('describes each setting in whole sentences', () => {
    for (const [key, { meaning }] of entries) expect(meaning, key).to.match(/^[A-Z`].*\.$/);
  });
});
