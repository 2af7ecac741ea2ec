import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Authority } from '../support/http/certificates.ts'
import { ProxyServer } from '../support/http/proxy-server.ts'
import { Scene } from './scene.ts'

/** A name that leads nowhere: whoever asks without the proxy learns that, and nothing else. */
const NOWHERE = 'git.invalid'
const PASSWORD = 'canary-proxy-9c2f'

test.each([
  ['http', 'could be reached without'],
  ['https', 'could not be reached without'],
] as const)(
  '25: a host over %s that %s its proxy is reached through it alone, whatever becomes of the proxy',
  async (scheme, without) => {
    const authority = new Authority()
    const identity = authority.vouchFor([NOWHERE])
    await using scene = await Scene.set([], [], scheme === 'https' ? identity : undefined)
    await using proxy = await ProxyServer.start(scene.git.origin)
    await writeFile(join(scene.home.configFile, '..', 'authority.pem'), authority.cert)
    scene.home.env['PROXY_PASSWORD'] = PASSWORD
    const right = `Basic ${Buffer.from(`skills:${PASSWORD}`).toString('base64')}`
    proxy.access = right
    const auth = 'auth: { basic: { username: skills, password: { env: PROXY_PASSWORD } } }'
    const origin = without === 'could be reached without' ? scene.git.origin : `${scheme}://${NOWHERE}`
    const source = [`url: ${origin}/team.git`, 'every: 1s', `proxy: { url: ${proxy.url}, ${auth} }`]
    await scene.home.configure({ team: [...source, ...(scheme === 'https' ? ['ca: authority.pem'] : [])] })
    await scene.play()

    const faults: readonly (readonly [string, () => Promise<void>, () => Promise<void>])[] = [
      ['source-unreachable', () => proxy.goAway(), () => proxy.comeBack()],
      [
        'credentials-rejected',
        async () => void (proxy.access = 'Basic other'),
        async () => void (proxy.access = right),
      ],
      ['source-unreachable', async () => void (proxy.status = 502), async () => void (proxy.status = undefined)],
    ]
    for (const [code, begin, end] of faults) {
      await begin()
      const line = await scene.problem(code)
      const asked = scene.git.requests.length
      await scene.witness.looksAgain()
      expect(line).toContain(proxy.url)
      expect(scene.git.requests.length, 'requests without the proxy').toBe(asked)
      await end()
      await scene.recovers()
    }

    expect(scene.daemon.stderr).not.toContain(PASSWORD)
    expect(scene.daemon.stderr, 'what comes of asking without the proxy').not.toContain('dns-failed')
    await scene.expectWell()
  },
)
