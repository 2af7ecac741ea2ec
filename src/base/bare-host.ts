/** The host without the brackets that an IPv6 address has in an address of the web. */
export function bareHost({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '')
}
