/** Where a replica is reached for what it tells everybody: nothing secret goes there, so http will do. */

/** Without a slash at the end. @throws Error with the refusal */
export function readReplicaAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Error('--server takes the http or https address of a replica.');
  }
  return url.href.replace(/\/+$/, '');
}
