import { expect } from 'chai';
import fc from 'fast-check';
import { applied, judgeUser, type UserDraft } from '../../../domain/signals/provisioned-user.ts';
import { USER_SCHEMA } from '../../../domain/signals/user-attribute.ts';
import { MAX_OPERATIONS, PATCH_SCHEMA, readUserPatch } from '../../../domain/signals/user-patch.ts';
import type { Json, JsonObject } from '../../../domain/tokens/strict-json.ts';
import { inRandomCase } from '../../support/random-case.ts';

const ADA: UserDraft = { userName: 'ada@example.org', externalId: '00u7', active: true };

function patch(operations: Json, more: JsonObject = { schemas: [PATCH_SCHEMA] }): JsonObject {
  return { ...more, Operations: operations };
}

/** The patched user, or the code of the refusal. */
function patched(operations: Json, person: 'externalId' | 'userName' = 'externalId'): UserDraft | string {
  const read = readUserPatch(patch(operations), person);
  return read.kind === 'invalid' ? read.code : applied(ADA, read.assignments);
}

describe('A PATCH of a user', () => {
  const deactivations: readonly (readonly [title: string, operation: Json])[] = [
    ['Okta', { op: 'replace', value: { active: false } }],
    ['Entra ID by default', { op: 'Replace', path: 'active', value: 'False' }],
    ['Entra ID with aadOptscim062020', { op: 'replace', path: 'active', value: false }],
    ['an operation in capitals', { OP: 'REPLACE', Path: 'ACTIVE', VALUE: 'FALSE' }],
    ['the path with its schema', { op: 'replace', path: `${USER_SCHEMA}:active`, value: false }],
    ['the schema for a path', { op: 'replace', path: USER_SCHEMA, value: { active: false } }],
    ['a pathless key with its schema', { op: 'replace', value: { [`${USER_SCHEMA}:Active`]: false } }],
    ['a pathless object under its schema', { op: 'add', value: { [USER_SCHEMA]: { active: false } } }],
    ['an add, which does what a replace does', { op: 'Add', path: 'active', value: false }],
    ['a path of null', { op: 'replace', path: null, value: { active: false } }],
  ];
  for (const [title, operation] of deactivations) {
    it(`deactivates a user in the form of ${title}`, () => {
      expect(patched([operation])).to.deep.equal({ ...ADA, active: false });
    });
  }

  it('drops attributes that are not stored and applies the rest, as in Entra ID’s large patches', () => {
    expect(
      patched([
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'a@b.example' },
        { op: 'Add', path: 'name.givenName', value: 'Ada' },
        { op: 'Remove', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:employeeNumber' },
        { op: 'Replace', value: { 'name.familyName': 'L', 'emails[type eq "work"].value': 'x', userName: 'ada2' } },
        { op: 'Add', path: 'phoneNumbers' },
        { op: 'Replace', path: '__proto__.active', value: false },
      ]),
    ).to.deep.equal({ ...ADA, userName: 'ada2' });
  });

  it('applies operations in their order', () => {
    const [off, on] = [false, true].map((value) => ({ op: 'replace', path: 'active', value }));
    expect(patched([off ?? null, on ?? null, off ?? null])).to.deep.equal({ ...ADA, active: false });
  });

  it('removes only optional attributes', () => {
    const remove = (path: string) => [{ op: 'remove', path }];
    for (const path of ['active', 'userName', 'externalId', `${USER_SCHEMA}:externalId`]) {
      expect(patched(remove(path)), path).to.equal('invalidValue');
    }
    expect(patched(remove('externalId'), 'userName')).to.deep.equal({ ...ADA, externalId: undefined });
    expect(patched(remove('userName'), 'userName')).to.equal('invalidValue');
    expect(patched(remove('title'))).to.deep.equal(ADA);
  });

  const unreadable: readonly (readonly [title: string, operations: Json])[] = [
    ['no array of operations', { op: 'replace', path: 'active', value: false }],
    ['no operation', []],
    ['an operation that is not an object', ['replace']],
    ['an operation without op', [{ path: 'active', value: false }]],
    ['an unknown operation', [{ op: 'move', path: 'active', value: false }]],
    ['an op that is not a string', [{ op: ['replace'], path: 'active', value: false }]],
    ['a path that is not a string', [{ op: 'replace', path: ['active'], value: false }]],
    ['a part of active', [{ op: 'replace', path: 'active.value', value: false }]],
    ['active with white space', [{ op: 'replace', path: ' active', value: false }]],
    ['an empty path', [{ op: 'replace', path: '', value: { active: false } }]],
    ['a path of white space', [{ op: 'replace', path: ' ', value: { active: false } }]],
    ['a path in another notation', [{ op: 'replace', path: '/active', value: false }]],
    ['a quoted path', [{ op: 'replace', path: '"active"', value: false }]],
    ['a path that begins with an invisible character', [{ op: 'replace', path: '\u200bactive', value: false }]],
    ['no value for a stored attribute', [{ op: 'replace', path: 'active' }]],
    ['a pathless removal', [{ op: 'remove' }]],
    ['a pathless value that is not an object', [{ op: 'replace', value: false }]],
    ['a pathless part of active', [{ op: 'replace', value: { 'active.value': false } }]],
    ['one attribute in two cases', [{ op: 'replace', value: { active: true, Active: false } }]],
    ['one attribute in two spellings', [{ op: 'replace', value: { active: true, [`${USER_SCHEMA}:active`]: false } }]],
    ['one member in two cases', [{ op: 'replace', path: 'active', value: true, Value: false }]],
    ['a schema inside of itself', [{ op: 'replace', value: { [USER_SCHEMA]: { [USER_SCHEMA]: { active: false } } } }]],
  ];
  for (const [title, operations] of unreadable) {
    it(`is refused for ${title}`, () => {
      expect(patched(operations)).to.equal('invalidSyntax');
    });
  }

  it('is refused with the schema of another message, and accepted without schemas', () => {
    const operations = [{ op: 'replace', path: 'active', value: false }];
    for (const schemas of [[USER_SCHEMA], [], PATCH_SCHEMA, null, [7]]) {
      expect(readUserPatch(patch(operations, { schemas }), 'externalId')).to.include({ code: 'invalidSyntax' });
    }
    expect(readUserPatch(patch(operations, {}), 'externalId').kind).to.equal('read');
    expect(readUserPatch(patch(operations, { Schemas: [PATCH_SCHEMA.toUpperCase()] }), 'externalId').kind).to.equal(
      'read',
    );
    expect(readUserPatch({ ...patch(operations), operations }, 'externalId')).to.include({ code: 'invalidSyntax' });
    expect(readUserPatch({ schemas: [PATCH_SCHEMA], OPERATIONS: operations }, 'externalId').kind).to.equal('read');
  });

  it(`accepts ${MAX_OPERATIONS} operations and no more`, () => {
    const operations = (count: number) =>
      Array.from({ length: count }, () => ({ op: 'replace', path: 'active', value: false }));
    expect(patched(operations(MAX_OPERATIONS))).to.deep.equal({ ...ADA, active: false });
    expect(patched(operations(MAX_OPERATIONS + 1))).to.equal('invalidSyntax');
    expect(patched(operations(1000))).to.equal('invalidSyntax');
  });

  it('is atomic: one faulty operation at any position refuses the whole PATCH', () => {
    const good = fc.oneof(
      fc.boolean().map((value) => ({ op: 'replace', path: 'active', value })),
      fc.constantFrom('grace', 'ada2').map((value) => ({ op: 'Add', path: 'userName', value })),
      fc.constant({ op: 'replace', value: { 'name.givenName': 'x', externalId: '00u8' } }),
      fc.constant({ op: 'remove', path: 'title' }),
    );
    const bad = fc.constantFrom<Json>(
      { op: 'replace', path: 'active', value: 'maybe' },
      { op: 'remove', path: 'userName' },
      { op: 'copy', path: 'active' },
      { op: 'replace', path: 'externalId', value: '' },
      null,
    );
    fc.assert(
      fc.property(fc.array(good, { maxLength: 5 }), bad, fc.array(good, { maxLength: 5 }), (before, wrong, after) => {
        expect(patched([...before, wrong, ...after])).to.be.a('string');
        const whole = patched([...before, ...after, { op: 'remove', path: 'nothing' }]);
        expect(whole).to.be.an('object');
      }),
    );
  });

  it('means the same with names in any case', () => {
    fc.assert(
      fc.property(
        inRandomCase('operations'),
        inRandomCase('replace'),
        inRandomCase('path'),
        inRandomCase('value'),
        inRandomCase('externalId'),
        (operations, op, path, value, attribute) => {
          const body = { schemas: [PATCH_SCHEMA], [operations]: [{ op, [path]: attribute, [value]: '00u9' }] };
          const read = readUserPatch(body, 'externalId');
          expect(read).to.deep.equal({ kind: 'read', assignments: [{ attribute: 'externalId', value: '00u9' }] });
        },
      ),
    );
  });
});

describe('A complete user', () => {
  it('needs a userName, and a sponsor key in the attribute that names the person', () => {
    const code = (draft: Partial<UserDraft>, person: 'externalId' | 'userName') => {
      const judged = judgeUser({ ...ADA, ...draft }, person);
      return judged.kind === 'invalid' ? judged.code : judged.fields.sponsorKey;
    };
    expect(code({}, 'externalId')).to.equal('00u7');
    expect(code({}, 'userName')).to.equal('ada@example.org');
    expect(code({ externalId: undefined }, 'userName')).to.equal('ada@example.org');
    for (const draft of [{ externalId: undefined }, { externalId: 'two words' }, { userName: undefined }]) {
      expect(code(draft, 'externalId')).to.equal('invalidValue');
    }
    expect(code({ userName: 'two words' }, 'userName')).to.equal('invalidValue');
    expect(code({ userName: 'two words' }, 'externalId')).to.equal('00u7');
  });
});
