import { expect } from 'chai';
import fc from 'fast-check';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { describeUnknownSetting, keyAt } from '../../../composition/settings/given-settings.ts';
import { readSettings } from '../../../composition/settings/read-settings.ts';
import { describeSettingError } from '../../../composition/settings/startup-error.ts';
import { door, environment, errorsWith, readWith, startable } from './sources.ts';

describe('Wrong settings', () => {
  it('are all reported, each with its key, its variable and the accepted form', () => {
    const result = readWith({
      'Service:Issuer': 'mandate.example',
      'Service:UpstreamIdp:Audience': undefined,
      'Service:UpstreamIdp:SponsorCheck:ClientId': undefined,
      'Service:Database:Path': '/var/lib/mandate.db',
      'Service:Signing:Keys:3:Pem': 'not a key',
      'Service:Admin:ApiKey': 'short',
      'Service:Agents:MaxTokenTtl': 'an hour',
      PORT: '70000',
    });
    expect(result.kind === 'invalid' && result.errors.map(describeSettingError)).to.deep.equal([
      'Service:Issuer (Service__Issuer) is not an absolute http or https URL. Accepted: an absolute http or https URL without user information, query or fragment.',
      'Service:UpstreamIdp:Audience (Service__UpstreamIdp__Audience) is required. Accepted: text of at most 2048 characters.',
      'Service:Admin:ApiKey (Service__Admin__ApiKey) is shorter than 32 characters. Accepted: at least 32 characters: letters, digits, -, ., _, ~, +, /, then =.',
      'Service:Agents:MaxTokenTtl (Service__Agents__MaxTokenTtl) is not a duration in whole weeks, days, hours, minutes and seconds above zero. Accepted: a duration (PT30M or 00:30:00) above zero.',
      'PORT is more than 65535. Accepted: a whole number in plain digits from 0 to 65535.',
      'Service:Signing:Keys:3:Pem (Service__Signing__Keys__3__Pem) is not the text of a PEM file. Accepted: the text of a PEM file; its line breaks may be written as \\n.',
      'Service:UpstreamIdp:SponsorCheck:ClientId (Service__UpstreamIdp__SponsorCheck__ClientId) is required while Service:UpstreamIdp:SponsorCheck:Mode is poll. Accepted: text of at most 2048 characters.',
      'Service:Database:Path (Service__Database__Path) is set while Service:Database:Provider is postgres. Accepted: leaving it unset.',
      'Service:Signing:ActiveKid (Service__Signing__ActiveKid) is required while there is more than one signing key. Accepted: a name of at most 128 characters, no space.',
    ]);
  });

  it('do not hide another error, and cause no further error', () => {
    expect(
      errorsWith({
        'Service:Tokens:DefaultTaskTtl': 'soon',
        'Service:Agents:MinTokenTtl': 'PT2H',
        'Service:Signing:Keys:0:Kid': 'two words',
        'Service:Signing:Keys:1:Kid': 'orphan',
      }),
    ).to.deep.equal([
      'Service:Tokens:DefaultTaskTtl: is not a duration in whole weeks, days, hours, minutes and seconds above zero',
      'Service:Signing:Keys:0:Kid: holds white space',
      'Service:Signing:Keys:1:Path: is not set, nor is Service:Signing:Keys:1:Pem',
      'Service:Signing:ActiveKid: is required while there is more than one signing key',
      'Service:Agents:MinTokenTtl: is longer than Service:Agents:MaxTokenTtl',
      'Service:Agents:MinTokenTtl: is longer than Service:Agents:MinTaskTtl',
      'Service:Tokens:DefaultTokenTtl: is shorter than Service:Agents:MinTokenTtl',
    ]);
  });

  it('of the ledger and of tasks are refused beyond their limits', () => {
    const beyond = {
      'Service:StatusLists:Ttl': ['PT0S', 'PT1M1S'],
      'Service:StatusLists:Entries': ['512', '2097152', '1025', '131073', '2e10'],
      'Service:Tasks:SweepInterval': ['PT0S', 'P1DT1S'],
      'Service:Tasks:SweepBatchSize': ['0', '1001', '20.5'],
      'Service:Tasks:Retention': ['PT0S', 'P1M'],
      'Service:Audit:Aggregation:Window': ['PT0.5S', 'PT0S', 'PT15M1S'],
      'Service:Audit:Aggregation:Enabled': ['no', '1'],
      'Service:Audit:Checkpoint:Interval': ['PT0S', 'PT1H1S'],
      'Service:Audit:Retention': ['P30DT23H59M59S', 'P1M'],
      'Service:Audit:Sink:Url': ['https://user:secret@sink.example/', 'ftp://sink.example/', '/records'],
      'Service:Audit:DrainBatchSize': ['0', '1001', '-1'],
      'Service:Audit:DrainInterval': ['PT0S', 'PT1H1S'],
      'Service:Audit:Partitions:MonthsAhead': ['0', '13'],
    };
    for (const [key, texts] of Object.entries(beyond)) {
      for (const text of texts) {
        const errors = errorsWith({ [key]: text });
        expect(errors, `${key}=${text}`).to.have.lengthOf(1);
        expect(errors[0]).to.match(new RegExp(`^${key}: `));
      }
    }
    expect(errorsWith({ 'Service:Audit:Sink:BearerToken': 'two words' })).to.deep.equal([
      'Service:Audit:Sink:BearerToken: holds a character that a bearer token cannot carry',
    ]);
  });

  it('of approvals are refused beyond their limits', () => {
    const beyond = {
      Enabled: ['yes', '1'],
      Lifetime: ['PT59S', 'P1DT1S'],
      Spend: ['PT59S', 'P1DT1S'],
      RefusedFor: ['PT59S', 'P1DT1S'],
      MaxPendingPerTask: ['0', '1001', '1.5'],
      MaxPendingPerPerson: ['0', '1001', '-1'],
      MaxQuestionsPerHour: ['0', '10001', '1.5'],
      MaxAuthAge: ['PT59S', 'PT1H1S'],
      'Notify:Url': ['http://chat.example/hook', 'https://user:secret@chat.example/'],
    };
    for (const [name, texts] of Object.entries(beyond)) {
      for (const text of texts) {
        const errors = errorsWith({ [`Service:Approvals:${name}`]: text });
        expect(errors, `${name}=${text}`).to.have.lengthOf(1);
        expect(errors[0]).to.match(new RegExp(`^Service:Approvals:${name}: `));
      }
    }
  });

  it('of sub-agents are refused beyond their limits', () => {
    const beyond = {
      Enabled: ['yes', '1'],
      MaxDepth: ['1', '6', '2.5'],
      MaxChildrenPerTask: ['0', '1001', '1.5'],
      OfferTtl: ['PT9S', 'PT5M1S'],
    };
    for (const [name, texts] of Object.entries(beyond)) {
      for (const text of texts) {
        const errors = errorsWith({ [`Service:Delegation:${name}`]: text });
        expect(errors, `${name}=${text}`).to.have.lengthOf(1);
        expect(errors[0]).to.match(new RegExp(`^Service:Delegation:${name}: `));
      }
    }
  });

  it('of the page are refused beyond their limits', () => {
    for (const [key, text] of [
      ['Service:Me:SessionTtl', 'PT59S'],
      ['Service:Me:SessionTtl', 'PT8H1S'],
      ['Service:Me:Pause', 'yes'],
    ]) {
      const errors = errorsWith({ 'Service:Me:ClientId': 'page', [String(key)]: text });
      expect(errors, `${key}=${text}`).to.have.lengthOf(1);
      expect(errors[0]).to.match(new RegExp(`^${key}: `));
    }
  });

  it('of tasks that people start are refused beyond their limits', () => {
    for (const [field, text] of [
      ...[
        ['RequestTtl', 'PT59S'],
        ['RequestTtl', 'PT30M1S'],
        ['CodeTtl', 'PT9S'],
        ['CodeTtl', 'PT5M1S'],
        ['MaxAuthAge', 'PT59S'],
        ['MaxAuthAge', 'P1DT1S'],
      ],
      ...[
        ['PublicClients', 'yes'],
        ['Registration', 'any'],
      ],
      // No scope could begin with these (RFC 6749 §3.3).
      ...['api://a b/', 'api://a"', 'api://a\\', 'api://ä/', 'a'.repeat(201)].map((prefix) => ['ScopePrefix', prefix]),
      ['ProviderParameters:audience', 'a'.repeat(513)],
    ]) {
      const errors = errorsWith({ ...door, [`Service:Authorize:${field}`]: text });
      expect(errors, `${field}=${text}`).to.have.lengthOf(1);
      expect(errors[0]).to.match(new RegExp(`^Service:Authorize:${field}: `));
    }
  });

  it('are never repeated in an error', () => {
    const keys = Object.keys(catalogue).map((key) => keyAt(key, 0, 'audience'));
    const canary = fc.string({ unit: fc.constantFrom(...'xyz!#@ :/?'), minLength: 8, maxLength: 40 });
    const texts = fc.dictionary(
      fc.constantFrom(...keys),
      canary.map((text) => `Sesame${text}`),
    );
    fc.assert(
      fc.property(texts, (changes) => {
        const result = readWith(changes);
        const said = result.kind === 'invalid' ? result.errors.map(describeSettingError).join('\n') : '';
        expect(said).not.to.contain('Sesame');
      }),
    );
  });

  it('include a removed setting', () => {
    const result = readWith({ 'Service:Audit:Chains': '4' });
    expect(result.kind === 'invalid' && result.errors.map(describeSettingError)).to.deep.equal([
      'Service:Audit:Chains (Service__Audit__Chains) has been removed. Accepted: leaving it unset: there is one chain of checkpoints, which needs no setting.',
    ]);
  });
});

describe('An unknown setting', () => {
  const unknown = (variables: Record<string, string>, ...overrides: { key: string; value: string }[]) =>
    readSettings({ environment: { ...environment(startable), ...variables }, overrides }).unknown.map(
      describeUnknownSetting,
    );

  it('is reported with the most similar known setting in the same notation', () => {
    expect(
      unknown(
        {
          Service__Isuer: 'x',
          SERVICE__ADMIN__APIKEY: 'x',
          Service__Signing__Keys__7__Pm: 'x',
          'Service:Issuer': 'x',
          Service__Database__ConectionString: 'x',
          Service__Authorise__ProviderParameters__audience: 'x',
          Service__Authorize__ProviderParameters__: 'x',
        },
        { key: 'Service:Tokens:DefaultTaskTTL', value: 'PT1H' },
      ),
    ).to.deep.equal([
      'Service__Isuer is not a setting of this service and is ignored. Did you mean Service__Issuer?',
      'SERVICE__ADMIN__APIKEY is not a setting of this service and is ignored. Did you mean Service__Admin__ApiKey?',
      'Service__Signing__Keys__7__Pm is not a setting of this service and is ignored. Did you mean Service__Signing__Keys__7__Pem?',
      'Service:Issuer is not a setting of this service and is ignored. Did you mean Service__Issuer?',
      'Service__Database__ConectionString is not a setting of this service and is ignored. Did you mean Service__Database__ConnectionString?',
      'Service__Authorise__ProviderParameters__audience is not a setting of this service and is ignored. Did you mean Service__Authorize__ProviderParameters__audience?',
      'Service__Authorize__ProviderParameters__ is not a setting of this service and is ignored.',
      '--Service:Tokens:DefaultTaskTTL is not a setting of this service and is ignored. Did you mean --Service:Tokens:DefaultTaskTtl?',
    ]);
  });

  it('is reported without a suggestion if no setting is similar', () => {
    const named = `Service__Audit__Sink__${'x'.repeat(64)}`;
    expect(unknown({ Service__X: '1', [named]: '1', [`Service__${'x'.repeat(5000)}`]: '1' })).to.deep.equal([
      'Service__X is not a setting of this service and is ignored.',
      `${named} is not a setting of this service and is ignored.`,
      `Service__${'x'.repeat(5000)} is not a setting of this service and is ignored.`,
    ]);
  });

  it('is not found among the inherited properties of an object', () => {
    expect(unknown({ Service__constructor: '1', Service____proto__: '1' })).to.have.length(2);
    expect(errorsWith({ 'Service:toString': '1' })).to.deep.equal([]);
  });

  it('may be the key of a list with a malformed or padded index', () => {
    const variables = [
      'Service__Signing__Keys__00__Path',
      'Service__Signing__Keys__-1__Path',
      'Service__Signing__Keys__N__Path',
    ];
    for (const variable of variables) expect(unknown({ [variable]: 'x' }), variable).to.have.length(1);
    expect(unknown({ Service__Signing__Keys__01__Path: 'x' })).to.deep.equal([
      'Service__Signing__Keys__01__Path is not a setting of this service and is ignored. Did you mean Service__Signing__Keys__1__Path?',
    ]);
  });

  it('is neither a variable of another program nor an empty variable', () => {
    expect(
      unknown({ PATH: '/bin', SERVICE_HOST: 'x', MY_Service__Issuer: 'x', constructor: 'x', Service__Nothing: '' }),
    ).to.deep.equal([]);
  });
});
