// The address at which this machine reaches its gateway. Pure.

/** Returns the address of a server, with loopback in place of all addresses of the machine, at which no browser finds it. */
export function reachable(address: string): string {
  return address.replace(/^http:\/\/(0\.0\.0\.0|\[::\]):/, 'http://127.0.0.1:');
}
