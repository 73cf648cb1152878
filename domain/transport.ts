/** Addresses that no third party on the network can impersonate: https, and plain http that stays on this machine. */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/;

/** @param host a name or an address; an IPv6 address with or without brackets */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether a third party on the network could read or answer requests to this URL. */
export function travelsInTheClear({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isLoopback(hostname);
}
