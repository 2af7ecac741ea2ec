import { expect, test } from 'vitest'
import { bareHost, isLoopback, isLoopbackUrl } from '../../src/base/host-name.ts'

test.each(['127.0.0.1', '127.255.255.254', '::1', 'localhost', 'LOCALHOST'])(
  '%s is reached from this machine alone',
  (host) => {
    expect(isLoopback(host)).toBe(true)
  },
)

test.each(['128.0.0.1', '12.7.0.1', '0.0.0.0', '::', '127.example.com', 'localhost.example.com', '[::1]'])(
  '%s is reached from elsewhere, or is none',
  (host) => {
    expect(isLoopback(host)).toBe(false)
  },
)

test('a URL has its host in brackets if that is an IPv6 address', () => {
  expect(bareHost(new URL('http://[::1]:8741/'))).toBe('::1')
  expect(isLoopbackUrl(new URL('http://[::1]:8741/'))).toBe(true)
  expect(isLoopbackUrl(new URL('http://[2001:db8::1]/'))).toBe(false)
})
