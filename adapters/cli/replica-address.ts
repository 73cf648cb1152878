/** The address of a replica for its public endpoints. No secret is sent there, so plain http is allowed. */

/** Returns the address without a trailing slash. @throws Error with the refusal */
export function readReplicaAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Error('--server takes the http or https address of a replica.');
  }
  return url.href.replace(/\/+$/, '');
}
