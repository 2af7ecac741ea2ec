import { afterEach, beforeEach, expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { TokenIssuer } from '../../../support/http/issuer.ts'
import { Visitor } from '../../../support/http/visitor.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'

const HUB = 'https://skills.example.com'
const CLIENT = { id: 'the page', redirectUri: `${HUB}/login/callback` } as const
const FILES = {
  'web/tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies up\n---\n',
  'ops/deploy/SKILL.md': '---\nname: deploy\ndescription: Deploys\n---\n',
}

let issuer: TokenIssuer
let repository: Repository
let served: Served
beforeEach(async () => {
  repository = await Repository.create()
  await repository.commit(FILES)
  issuer = await TokenIssuer.start()
  issuer.grants.know(CLIENT)
  served = await serving()
})
afterEach(async () => {
  await served[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

async function serving({ page = `client_id: ${CLIENT.id}`, config = [] as readonly string[] } = {}): Promise<Served> {
  return serve(repository, {
    config: [
      'serve:',
      `  http: { public_url: '${HUB}' }`,
      `  oauth: { issuer: '${issuer.url}', audience: hub, page: { ${page} } }`,
      ...config,
    ],
  })
}

function visitor(of: Served = served): Visitor {
  return new Visitor(of.http.url, HUB)
}

test('a person signs in with the issuer, sees the page, and signs out', async () => {
  const ada = visitor()
  const asked = await ada.open('/sources')

  const entered = await ada.signIn('/login/start?to=sources')
  const shown = await ada.open('/sources')
  const left = await ada.send('/logout')
  const after = await ada.open('/sources')

  expect(asked.status).toBe(401)
  expect(asked.text).toContain('href="./login/start?to=sources"')
  expect(entered.status).toBe(200)
  expect(entered.text).toContain('<meta http-equiv="refresh" content="0; url=../sources" />')
  expect(shown.status).toBe(200)
  expect(shown.text).toContain('oauth:ada#')
  expect([left.status, after.status]).toEqual([303, 401])
})
