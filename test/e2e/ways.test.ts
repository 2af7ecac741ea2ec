import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Authority } from '../support/http/certificates.ts'
import { ProxyServer } from '../support/http/proxy-server.ts'
import { Home } from '../support/process/program.ts'
import { skill } from './world.ts'

const NAME = 'git.example.test'

test('an authority and a proxy are taken up as they are, and what is wrong with either has its name', async () => {
  const authority = new Authority()
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await using git = await GitServer.start(authority.vouchFor([NAME]))
  git.serve('team', repository)
  await using proxy = await ProxyServer.start(git.origin)
  await using home = await Home.create()
  const ca = join(home.path, 'ca.pem')
  await home.configure({ team: [`url: https://${NAME}/team.git`, 'every: 1h'] }, [
    `defaults: [{ match: 'https://${NAME}', ca: ${ca} }]`,
  ])
  home.env['HTTPS_PROXY'] = proxy.url
  const synced = async () => {
    const end = await home.run('sync', '--json')
    return JSON.parse(end.stdout).sources[0]
  }

  const missing = await synced()
  await writeFile(ca, new Authority('Nobody').cert)
  const unknown = await synced()
  await writeFile(ca, authority.cert)
  const updated = await synced()
  const seen = git.requests.length
  proxy.access = 'Basic bm8='
  const refused = await synced()
  await proxy[Symbol.asyncDispose]()
  const down = await synced()
  home.env['NO_PROXY'] = NAME
  const direct = await synced()
  const list = await home.run('list', '--json')

  expect(missing.problem).toMatchObject({
    code: 'tls-failed',
    message: expect.stringContaining(`"${ca}": no such file`),
  })
  expect(unknown.problem).toMatchObject({
    code: 'tls-failed',
    message: expect.stringContaining('not from a trusted authority'),
  })
  expect(updated).toMatchObject({ outcome: 'updated' })
  expect(refused.problem).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining(proxy.url) })
  expect(down.problem).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining(proxy.url) })
  expect(direct.problem).toMatchObject({ code: 'dns-failed' })
  expect(git.requests).toHaveLength(seen)
  expect(JSON.parse(list.stdout).skills).toHaveLength(1)
})
