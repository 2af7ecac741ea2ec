/** The host name without the brackets that an IPv6 address has in a URL. */
export function bareHost({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '')
}
