import { expect, test } from 'vitest'
import { HostNames } from '../../../src/daemon/access/host-names.ts'
import type { Address } from '../../../src/sync/upstream/http/host-access.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const STEADY = new AbortController().signal
const HERE: readonly Address[] = [{ address: '127.0.0.1', family: 4 }]

test('a name that is answered waits behind none of 40 names that are not', async () => {
  const { clock, names } = resolving()
  const silent = Array.from({ length: 40 }, (_, index) => names.addressesOf(`silent-${index}`, STEADY))
  const outcomes = silent.map((one) => one.catch((error: unknown) => error))
  const good = names.addressesOf('good', STEADY)
  await clock.advance(500)
  await clock.advance(500)

  expect(await good).toEqual(HERE)
  expect(await names.addressesOf('good', STEADY)).toEqual(HERE)
  await clock.advance(10_000)
  for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject({ code: 'dns-failed' })
})

test('a resolver that gives no answer is asked for a name once at a time, and its last answer holds', async () => {
  const { clock, resolver, names } = resolving()
  expect(await names.addressesOf('good', STEADY)).toEqual(HERE)
  await clock.advance(5_000)
  resolver.isSilent = true

  for (let look = 0; look < 3; look += 1) {
    const addresses = names.addressesOf('good', STEADY)
    await clock.advance(1_000)
    expect(await addresses).toEqual(HERE)
  }

  expect(resolver.asked).toEqual(['good', 'good'])
})

test('the time that a reload sets counts for the next name', async () => {
  const { clock, names } = resolving()
  names.configure({ connectMs: 1_000 })
  const outcome = names.addressesOf('silent', STEADY).catch((error: unknown) => error)
  await clock.advance(1_000)

  expect(await outcome).toMatchObject({ code: 'dns-failed', message: expect.stringContaining('1000 ms') })
})

test('an answer of the last five seconds is not asked for again', async () => {
  const { clock, resolver, names } = resolving()
  await names.addressesOf('good', STEADY)

  await clock.advance(4_999)
  await names.addressesOf('good', STEADY)
  expect(resolver.asked).toEqual(['good'])
  await clock.advance(1)
  await names.addressesOf('good', STEADY)
  expect(resolver.asked).toEqual(['good', 'good'])
})

test('a name that the resolver does not know any more fails at once, and its last answer does not hold', async () => {
  const { clock, resolver, names } = resolving()
  await names.addressesOf('good', STEADY)
  await clock.advance(5_000)
  resolver.isLost = true

  const failed = names.addressesOf('good', STEADY)

  await expect(failed).rejects.toMatchObject({ code: 'dns-failed', message: expect.stringContaining('ENOTFOUND') })
})

test('an address is not looked up', async () => {
  const { resolver, names } = resolving()

  expect(await names.addressesOf('::1', STEADY)).toEqual([{ address: '::1', family: 6 }])
  expect(resolver.asked).toEqual([])
})

function resolving() {
  const [clock, resolver] = [new FakeClock(), new Resolver()]
  const names = new HostNames(clock, resolver.lookUp)
  names.configure({ connectMs: 10_000 })
  return { clock, resolver, names }
}

/** Answers for each name, unless it begins with `silent`. */
class Resolver {
  readonly asked: string[] = []
  isSilent = false
  isLost = false

  readonly lookUp = async (name: string): Promise<readonly Address[]> => {
    this.asked.push(name)
    if (this.isLost) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    if (this.isSilent || name.startsWith('silent')) return new Promise(() => {})
    return HERE
  }
}
