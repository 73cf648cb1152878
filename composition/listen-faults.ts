/** Why a server cannot listen, as a sentence. Address and port are shown, because they are not secret. */

/** The system's errors for a port. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be listened on by this user',
};

/** The system's errors for an address. */
const ADDRESS_FAULTS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'is not an address of this machine',
  EAFNOSUPPORT: 'is an IPv6 address, and this machine has no IPv6',
  EINVAL: 'is a link-local address without its zone, such as %eth0',
  ENOTFOUND: 'is a name that does not resolve',
  EAI_AGAIN: 'is a name that does not resolve now',
};

/** @param setting the setting with the port @returns a sentence; `undefined` for an error that is not about the port */
function describePortFault(
  error: unknown,
  port: number,
  host: string,
  setting: string,
  hostSetting = 'HOST',
): string | undefined {
  const fault = PORT_FAULTS[codeOf(error)];
  const names = setting === hostSetting ? setting : `${setting}, ${hostSetting}`;
  return fault && `Port ${port} on ${host} ${fault} (${names}).`;
}

/** @param names the settings or options with the address and the port @returns `undefined` for an error about neither */
export function describeListenFault(
  error: unknown,
  { host, port }: { readonly host: string; readonly port: number },
  names: { readonly host: string; readonly port: string },
): string | undefined {
  const fault = ADDRESS_FAULTS[codeOf(error)];
  return describePortFault(error, port, host, names.port, names.host) ?? (fault && `${names.host} ${fault}.`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
