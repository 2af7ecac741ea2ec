import { once } from 'node:events'
import { createServer } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import { expect, test } from 'vitest'
import { sessionServer } from '../../features/mcp-sources/upstream/servers.ts'
import type { SessionOptions, Telling } from '../../features/mcp-sources/upstream/servers.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { SkillsOnOffer } from '../../support/hostile/hostile-skills.ts'
import { Mirror } from '../../support/mirror.ts'

const URI = 'skill://refunds/SKILL.md'
const SERVED = 'skill://au/refunds/SKILL.md'

test.each([404, 400] as const)(
  'a server of the 2025 era that was restarted, and answers %i to the session, is initialised and subscribed to anew, and listed after that',
  async (unknown) => {
    const skills = new SkillsOnOffer()
    skills.set(URI, { 'SKILL.md': skill('one') })
    await using before = await started(skills, { unknown })
    await using mirror = await Mirror.start({ au: of(before.address.url) }, { isPulled: false })
    mirror.daemon.poll()
    await until(() => before.subscribed.has(URI))

    await before[Symbol.asyncDispose]()
    await streamRefused(portOf(before))
    // Before the subscription holds, the server tells its new session of nothing.
    const onSubscribe = (): void => skills.set(URI, { 'SKILL.md': skill('two') })
    await using after = await started(skills, { unknown, port: portOf(before), onSubscribe })
    await until(() => after.subscribed.has(URI))
    // Nothing is read until then: bytes that are not those of the old listing would have it taken anew by themselves.
    await until(() => isListedAfter(after.methods, 'resources/subscribe'))
    await served(mirror, 'two')
    const methods = [...after.methods]
    skills.set(URI, { 'SKILL.md': skill('three') })
    await after.updated(URI)
    await served(mirror, 'three')

    expect(methods.filter((method) => method === 'initialize')).toHaveLength(1)
  },
)

test('a pull that finds the server restarted has its subscriptions made anew, though the wait for the next attempt is not over', async () => {
  const skills = new SkillsOnOffer()
  skills.set(URI, { 'SKILL.md': skill('one') })
  await using before = await started(skills)
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: of(before.address.url) }, { clock, isPulled: false })
  mirror.daemon.poll()
  await until(() => before.subscribed.has(URI))
  await before[Symbol.asyncDispose]()
  const onSubscribe = (): void => skills.set(URI, { 'SKILL.md': skill('two') })
  await using after = await started(skills, { port: portOf(before), onSubscribe })

  await mirror.pull()

  await until(() => after.subscribed.has(URI))
  await served(mirror, 'two')
  expect(after.methods.filter((method) => method === 'initialize')).toHaveLength(1)
})

test.each([
  ['modern', 'subscriptions/listen'],
  ['legacy', 'resources/subscribe'],
] as const)(
  'a program of the %s era that ended is started anew, watched, and listed after that',
  async (era, asking) => {
    await using au = await HostileServer.start({ era })
    au.skills.set(URI, { 'SKILL.md': skill('one') })
    await using mirror = await Mirror.start({ au: of(au.program()) }, { isPulled: false })
    mirror.daemon.poll()
    await au.subscribed(URI)

    au.skills.set(URI, { 'SKILL.md': skill('two') })
    const before = au.requests.length
    au.dropStreams()
    await au.subscribed(URI)
    await until(() =>
      isListedAfter(
        au.requests.slice(before).map(({ method }) => method),
        asking,
      ),
    )
    await served(mirror, 'two')

    expect(await mirror.urisListed()).toEqual([SERVED])
  },
)

function isListedAfter(methods: readonly string[], asking: string): boolean {
  return methods.includes(asking) && methods.lastIndexOf('skills/list') > methods.lastIndexOf(asking)
}

async function started(skills: SkillsOnOffer, options: SessionOptions = {}): Promise<Telling> {
  return sessionServer({
    capabilities: { extensions: { 'io.modelcontextprotocol/skills': {} } },
    answer: ({ method, params }) => answerOf(skills, method, Object(params).uri),
    ...options,
  })
}

function answerOf(skills: SkillsOnOffer, method: string, uri: unknown): Record<string, unknown> {
  if (method === 'skills/list') return { skills: skills.listed.map(({ entry }) => entry) }
  if (method === 'skills/get') return { skill: skills.find(uri) }
  if (method === 'resources/read') return { contents: skills.contentsOf(uri) }
  throw new McpError(-32_601, `No ${method}`)
}

/** At a port where no server is for a while: resolves once a client wanted a stream there. */
async function streamRefused(port: number): Promise<void> {
  const wanted = Promise.withResolvers<void>()
  const nothing = createServer(({ method, socket }) => {
    if (method === 'GET') wanted.resolve()
    socket.destroy()
  }).listen(port, '127.0.0.1')
  await wanted.promise
  nothing.close()
  await once(nothing, 'close')
}

async function served(mirror: Mirror, body: string): Promise<void> {
  await until(async () => String(await mirror.bytesOf(SERVED)) === skill(body))
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

function of(place: unknown): string {
  return `mcp: ${JSON.stringify(place)}, approval: none, every: 1h`
}

function portOf({ address }: Telling): number {
  return Number(new URL(address.url).port)
}

function skill(body: string): string {
  return `---\nname: refunds\ndescription: d\n---\n${body}\n`
}
