/** Whether a host, as an address or a setting spells it, can only be this machine: a name or an IP address of loopback. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)
}
