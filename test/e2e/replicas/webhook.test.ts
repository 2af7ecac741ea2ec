import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { skill } from '../world.ts'
import { Hub, programs } from './replicas.ts'
import type { Member } from './replicas.ts'

const SECRET = 'secret-of-the-webhook'

describe.skipIf(programs === undefined)('a webhook of a hub of several processes', () => {
  test('works at each process, and one that is delivered to all of them again changes nothing', async () => {
    await using hub = await Hub.create()
    await using folder = await temporaryFolder()
    const secret = join(folder.path, 'secret')
    await writeFile(secret, SECRET, { mode: 0o600 })
    const source = ['every: 1h', `webhook: { provider: generic, secret: { file: ${secret} } }`]
    const one = await hub.start(source)
    await one.lists('alpha')
    const other = await hub.start(source)
    await other.lists('alpha')
    expect(await other.leads()).toBe(false)

    await hub.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
    expect(await post(other, 'first')).toBe(202)
    await one.lists('beta')
    await other.lists('beta')
    const { generation } = await one.status()

    // A pull of the new skill shows that the pulls before it have ended.
    for (const member of [one, other, one, other]) expect(await post(member, 'first')).toBe(202)
    await hub.repository.commit({ 'gamma/SKILL.md': skill('gamma', 'third') })
    expect(await post(other, 'second')).toBe(202)
    await one.lists('gamma')
    await other.lists('gamma')

    expect((await one.status()).generation).toBe(generation + 1)
    expect(await post(other, 'third', 'another secret')).toBe(401)
  }, 120_000)
})

async function post(member: Member, body: string, secret = SECRET): Promise<number> {
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = { 'x-skillsyncd-signature': `sha256=${signature}` }
  return (await fetch(new URL('/hooks/team', member.url), { method: 'POST', body, headers })).status
}
