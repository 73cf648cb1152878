/** Values that the chart refuses, and the error that names them. */

import { expect } from 'chai';
import { refusal, render } from '../../support/kubernetes/helm.ts';
import { objectOf, variablesOf } from '../../support/kubernetes/rendered-objects.ts';
import { consoleSettings, values, withSettings } from '../../support/kubernetes/values.ts';
import { ADMIN_KEY } from '../../support/mandate.ts';

export function chartRefusals(): void {
  describe('The Helm chart', function () {
    this.timeout(120_000);
    const without = (...names: readonly string[]) =>
      withSettings(Object.fromEntries(names.map((name) => [name, undefined])));
    const KEYS = [{ file: 'a.pem' }, { file: 'b.pem' }];
    const refused: readonly (readonly [string, unknown, readonly string[]])[] = [
      ['no value at all', {}, ['repository', 'Service__Issuer', 'Service__UpstreamIdp__Audience', 'UsersUrl']],
      ...Object.keys(values.settings).map((name) => [`no ${name}`, without(name), [name]] as const),
      ['an empty required setting', withSettings({ Service__Issuer: '' }), ['Service__Issuer']],
      ['an unknown setting', withSettings({ Service__Isuer: 'https://a.example' }), ['Service__Isuer']],
      ['a secret among the settings', withSettings({ Service__Admin__ApiKey: ADMIN_KEY }), ['Service__Admin__ApiKey']],
      ['a number as a setting', withSettings({ Service__Metrics__Port: 9464 }), ['Service__Metrics__Port', 'string']],
      ['an unknown value', { ...values, replica: 3 }, ['replica']],
      ['a word as a number', { ...values, replicas: 'two' }, ['replicas', 'integer']],
      ['two issuers', withSettings({ Service__UpstreamIdp__MetadataUrl: 'https://a.example' }), ['exclude each other']],
      ['two keys and no name', { ...values, signing: { keys: KEYS } }, ['signing.activeKid is required with more']],
      ['no key', { ...values, signing: { keys: [] } }, ['signing', 'keys']],
      ['a key outside its Secret', { ...values, signing: { keys: [{ file: '../a' }] } }, ['signing', 'keys', 'file']],
      [
        'a monitor without metrics',
        withSettings({ Service__Metrics__Port: null }, { serviceMonitor: { enabled: true } }),
        ['settings.Service__Metrics__Port is required if serviceMonitor.enabled'],
      ],
      [
        'a setting as a variable',
        { ...values, environment: { Service__Issuer: 'a' } },
        ['environment.Service__Issuer'],
      ],
      [
        'a password in a variable',
        { ...values, environment: { HTTPS_PROXY: 'http://me:sesame@proxy' } },
        ['environment.HTTPS_PROXY contains a password'],
      ],
      ['an empty list of proxies', { ...values, networkPolicy: { proxy: [] } }, ['networkPolicy', 'proxy']],
      [
        'a name and a password without a scheme in a variable',
        { ...values, environment: { HTTPS_PROXY: 'me:sesame@proxy:3128' } },
        ['environment.HTTPS_PROXY contains a password'],
      ],
      ...['HOST', 'PORT', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS'].map(
        (name) =>
          [
            `the variable ${name}`,
            { ...values, environment: { [name]: '1' } },
            [`environment.${name} must not`],
          ] as const,
      ),
      ['a variable with a space in its name', { ...values, environment: { 'A B': '1' } }, ['A B']],
      ...['caCertificates', 'migration', 'serviceMonitor', 'signing', 'secrets', 'networkPolicy'].map(
        (name) => [`${name} set to null`, { ...values, [name]: null }, [name]] as const,
      ),
      ...['word', '5100', '0'].map(
        (port) =>
          [
            `the metrics port ${port}`,
            withSettings({ Service__Metrics__Port: port }),
            ['settings.Service__Metrics__Port must be a port other than 5100'],
          ] as const,
      ),
      ...['word', '80', '5100', '9464', '0'].map(
        (port) =>
          [
            `the console's port ${port}`,
            withSettings({ ...consoleSettings, Service__Console__Port: port }),
            ['settings.Service__Console__Port must be a port other than 80, 5100 and settings.Service__Metrics__Port'],
          ] as const,
      ),
      ...['Service__Console__Port', 'Service__Console__Origin', 'Service__Operators__ClientId'].map(
        (name) => [`the console without ${name}`, withSettings({ ...consoleSettings, [name]: null }), [name]] as const,
      ),
      [
        'an empty list of peers of the console',
        { ...values, networkPolicy: { console: [] } },
        ['networkPolicy', 'console'],
      ],
      [
        'a tag in the name of the image',
        { ...values, image: { repository: 'registry.example:5000/mandate:1.0' } },
        ['image', 'repository'],
      ],
      ['a name that no Secret can have', { ...values, secrets: { serving: 'My Secret' } }, ['secrets', 'serving']],
      [
        'a blocked network that is none',
        { ...values, networkPolicy: { https: { blocked: ['internal/8'] } } },
        ['networkPolicy', 'blocked'],
      ],
      ['a number as an annotation', { ...values, podAnnotations: { a: 1 } }, ['podAnnotations', 'string']],
    ];
    for (const [what, given, names] of refused) {
      it(`is not rendered with ${what}, and the error names the faulty value`, async () => {
        const said = await refusal(given);
        for (const name of names) expect(said).to.include(name);
        expect(said).not.to.match(/sesame|parse error|nil pointer|error calling|executing/);
      });
    }

    it('is refused with a name of the release that no Service can have', async () => {
      for (const release of ['1mandate', 'mandate.prod']) {
        expect(await refusal(values, release)).to.include(`the name of the release, ${release}, names a Service too`);
      }
    });

    it('needs no address of a users API in mode signals', async () => {
      const poll = Object.keys(values.settings).filter((name) => name.includes('SponsorCheck'));
      expect(poll).to.have.lengthOf(3);
      const { settings } = without(...poll);
      const signals = { ...settings, Service__UpstreamIdp__SponsorCheck__Mode: 'signals' };
      const rendered = await render({ ...values, settings: signals });
      const variables = variablesOf(objectOf(rendered, 'Deployment'));
      expect(variables.Service__UpstreamIdp__SponsorCheck__Mode).to.equal('signals');
      expect(variables).not.to.have.any.keys(...poll);
    });
  });
}
