import { expect } from 'chai';
import fc from 'fast-check';
import {
  type Assignment,
  readAssignment,
  targetOf,
  USER_SCHEMA,
  userAttributes,
  withoutValue,
} from '../../../domain/signals/user-attribute.ts';
import { inRandomCase } from '../../support/random-case.ts';

describe('A path or name in a SCIM message', () => {
  it('names a stored attribute in any case, with or without its schema as a prefix', () => {
    for (const attribute of userAttributes) {
      fc.assert(
        fc.property(inRandomCase(attribute), inRandomCase(USER_SCHEMA), (name, schema) => {
          expect(targetOf(name)).to.equal(attribute);
          expect(targetOf(`${schema}:${name}`)).to.equal(attribute);
          expect(targetOf(schema)).to.equal('whole');
        }),
      );
    }
  });

  it('is ignored if it names no attribute, or one that is not stored', () => {
    for (const path of [
      'emails[type eq "work"].value',
      'name.givenName',
      'displayName',
      'activeDirectoryId',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:employeeNumber',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
      // An attribute of another schema with the name of one of ours.
      'urn:example:2.0:Robot:active',
      'emails[type eq "urn:ietf:params:scim:schemas:core:2.0:User:active"].value',
      '__proto__',
      '',
      '][',
    ]) {
      expect(targetOf(path), path).to.equal('other');
    }
  });

  it('is refused if it names a part of a stored attribute, so that no deactivation is ignored', () => {
    for (const path of [
      'active.value',
      'active[value eq "x"]',
      ' active',
      'active ',
      'userName.foo',
      'ExternalId[type eq "work"].value',
      `${USER_SCHEMA}:active.value`,
      'active eq false',
    ]) {
      expect(targetOf(path), path).to.equal('unreadable');
    }
  });
});

describe('The value of a stored attribute', () => {
  const read = (attribute: Assignment['attribute'], value: unknown) =>
    readAssignment(attribute, value as Parameters<typeof readAssignment>[1], 'userName');

  it('is a boolean for active, or the same as text in any case, as Entra ID sends it', () => {
    for (const value of [true, 'True', 'true', 'TRUE']) expect(read('active', value)).to.include({ value: true });
    for (const value of [false, 'False', 'fAlSe']) expect(read('active', value)).to.include({ value: false });
    for (const value of [null, 0, 1, '', 'no', ' false', [false], { value: false }, 'falſe']) {
      expect(read('active', value), JSON.stringify(value)).to.include({ kind: 'invalid', code: 'invalidValue' });
    }
  });

  it('is a name of 1 to 256 characters, not blank and without control characters', () => {
    for (const value of ['a', 'é'.repeat(256), 'Ada Lovelace', '"; drop table users; --']) {
      expect(read('userName', value)).to.deep.equal({ attribute: 'userName', value });
      expect(read('externalId', value)).to.deep.equal({ attribute: 'externalId', value });
    }
    for (const value of ['', ' ', 'a'.repeat(257), 'a\u0000b', 'a\nb', '\ud800', 7, true, ['a'], { value: 'a' }]) {
      expect(read('userName', value)).to.include({ kind: 'invalid', code: 'invalidValue' });
      expect(read('externalId', value)).to.include({ kind: 'invalid', code: 'invalidValue' });
    }
  });

  it('can be removed only from externalId, and only if that is not the sponsor key', () => {
    for (const attribute of userAttributes) {
      expect(withoutValue(attribute, 'externalId')).to.include({ kind: 'invalid', code: 'invalidValue' });
    }
    expect(withoutValue('userName', 'userName')).to.include({ kind: 'invalid', code: 'invalidValue' });
    expect(withoutValue('active', 'userName')).to.include({ kind: 'invalid', code: 'invalidValue' });
    expect(withoutValue('externalId', 'userName')).to.deep.equal({ attribute: 'externalId', value: undefined });
    // RFC 7643 §2.5: null means no value.
    expect(readAssignment('externalId', null, 'userName')).to.deep.equal(withoutValue('externalId', 'userName'));
  });

  it('counts as left out if it is null for an attribute that every user must have', () => {
    expect(readAssignment('externalId', null, 'externalId')).to.equal(undefined);
    for (const person of ['userName', 'externalId'] as const) {
      expect(readAssignment('userName', null, person)).to.equal(undefined);
    }
  });

  it('is never repeated in the error message', () => {
    for (const attribute of userAttributes) {
      const fault = read(attribute, ['hunter2-7c1d']);
      expect(JSON.stringify(fault)).not.to.contain('hunter2');
    }
  });
});
