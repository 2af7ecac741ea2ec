import { expect, test } from 'vitest'
import { credentialHeaders } from '../../../../src/sync/upstream/http/credential-headers.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'

const OWN = 'https://host.example/mcp'
const way = { ...PLAIN_WAY, headers: { authorization: 'Bearer secret' } }

test('a credential goes to every path of the own origin', () => {
  expect(credentialHeaders(way, 'https://host.example/other', OWN)).toEqual(way.headers)
})

test.each(['http://host.example/mcp', 'https://host.example:444/mcp', 'https://www.host.example/mcp'])(
  'a credential does not go to %s',
  (url) => {
    expect(credentialHeaders(way, url, OWN)).toEqual({})
  },
)

test('a credential that no header can hold is refused, and not told', () => {
  const broken = { ...way, headers: { authorization: 'secret\nvalue' } }

  expect(() => credentialHeaders(broken, OWN, OWN)).toThrow(
    expect.objectContaining({ code: 'credentials-rejected', message: expect.not.stringContaining('secret') }),
  )
})
