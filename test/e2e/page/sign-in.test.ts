import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Authority } from '../../support/http/certificates.ts'
import { TokenIssuer } from '../../support/http/issuer.ts'
import { ReverseProxy } from '../../support/http/reverse-proxy.ts'
import { Browser, barriersOn, noBrowser, picture } from '../../support/process/browser.ts'
import { World, skill } from '../world.ts'

const reason = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`
const CLIENT = 'page-of-the-hub'
const SECRET = 'secret-of-the-page-of-the-hub'

// The issuer is another site than the hub, as it is everywhere: a strict cookie does not come with a person whom it sends.
describe.skipIf(noBrowser !== undefined)(`signing in to the page in a browser${reason}`, () => {
  let browser: Browser
  let issuer: TokenIssuer
  let proxy: ReverseProxy
  let world: World
  beforeAll(async () => {
    browser = await Browser.start()
    issuer = await TokenIssuer.start({ name: 'localhost' })
    proxy = await ReverseProxy.secure(new Authority().vouchFor(['127.0.0.1']))
    issuer.grants.know({ id: CLIENT, secret: SECRET, redirectUris: [`${proxy.origin}/login/callback`] })
    world = await World.createShared()
    await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
    await configure(world)
    await world.synced()
    proxy.behind = new URL(await world.home.start('start').line()).origin
  })
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
    await proxy?.[Symbol.asyncDispose]()
    await issuer?.[Symbol.asyncDispose]()
    await browser?.[Symbol.asyncDispose]()
  })

  async function configure({ home }: World): Promise<void> {
    await writeFile(`${home.path}/secret`, `${SECRET}\n`)
    const serve = [
      'serve:',
      `  http: { port: 0, public_url: '${proxy.origin}' }`,
      '  oauth:',
      `    issuer: '${issuer.url}'`,
      '    audience: hub',
      `    page: { client_id: ${CLIENT}, client_secret: { file: '${home.path}/secret' } }`,
      'packs:',
      "  - { id: some, description: Some, include: [{ name: 'al*' }] }",
    ]
    const text = await readFile(home.configFile, 'utf8')
    await writeFile(home.configFile, text.replace(/^serve: .*$/m, serve.join('\n')))
  }

  test('a person signs in with the issuer, comes to the page that they opened, sees their pack, and signs out', async () => {
    issuer.person = { access: { scope: 'page pack:some' } }
    const { page, said } = await browser.open(`${proxy.origin}/connect?x=1`, { ignoreHTTPSErrors: true })
    const barriers = await barriersOn(page)
    await picture(page, 'sign-in-with-issuer')

    await page.getByRole('link', { name: /^Sign in with localhost:/ }).click()
    await page.getByRole('button', { name: 'I am Ada' }).click()
    await page.waitForURL(`${proxy.origin}/connect?x=1`)
    await page.getByRole('link', { name: 'Skills', exact: true }).click()
    const skills = await page.locator('#found h2').allTextContents()
    const cookies = await page.context().cookies(proxy.origin)
    const seen = await page.evaluate<string>('document.cookie')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()

    expect(barriers).toEqual([])
    expect(skills).toEqual(['alpha'])
    expect(cookies).toMatchObject([
      { name: '__Host-skillsyncd', httpOnly: true, secure: true, sameSite: 'Strict', path: '/' },
    ])
    expect(seen).toBe('')
    expect(await page.context().cookies(proxy.origin)).toEqual([])
    expect(said.filter((line) => !line.includes('401'))).toEqual([])
  })

  test('what the issuer says against it is shown, and the next attempt succeeds', async () => {
    issuer.person = { access: { scope: 'page pack:*' } }
    issuer.refusal = { error: 'access_denied', error_description: '<b>Not today</b>' }
    const { page, dialogs } = await browser.open(`${proxy.origin}/`, { ignoreHTTPSErrors: true })
    await page.getByRole('link', { name: /^Sign in with/ }).click()
    await page.getByRole('button', { name: 'I am Ada' }).click()

    await page.getByText('access_denied: <b>Not today</b>').waitFor()
    const barriers = await barriersOn(page)
    await picture(page, 'sign-in-declined')
    issuer.refusal = undefined
    await page.getByRole('link', { name: 'Sign in again' }).click()
    await page.getByRole('button', { name: 'I am Ada' }).click()
    await page.waitForURL(`${proxy.origin}/`)

    expect(await page.locator('#found h2').allTextContents()).toEqual(['alpha', 'beta'])
    expect(barriers).toEqual([])
    expect(dialogs).toEqual([])
  })

  test('the session that a browser had ends when it signs in again', async () => {
    issuer.person = { access: { scope: 'page pack:*' } }
    const { page } = await browser.open(`${proxy.origin}/`, { ignoreHTTPSErrors: true })
    await page.getByRole('link', { name: /^Sign in with/ }).click()
    await page.getByRole('button', { name: 'I am Ada' }).click()
    await page.waitForURL(`${proxy.origin}/`)
    const before = await page.context().cookies(proxy.origin)

    await page.goto(`${proxy.origin}/login/start?to=connect`)
    await page.getByRole('button', { name: 'I am Ada' }).click()
    await page.waitForURL(`${proxy.origin}/connect`)
    const after = await page.context().cookies(proxy.origin)
    await page.context().addCookies(before)
    await page.goto(`${proxy.origin}/`)
    await page.getByLabel('Token').waitFor()

    expect([before, after].map((cookies) => cookies.map(({ name }) => name))).toEqual([
      ['__Host-skillsyncd'],
      ['__Host-skillsyncd'],
    ])
    expect(after[0]?.value).not.toBe(before[0]?.value)
  })

  test('an answer that came while the issuer was down succeeds with "Try again"', async () => {
    issuer.person = { access: { scope: 'page pack:*' } }
    await using other = await World.createShared()
    await configure(other)
    await other.synced()
    const served = proxy.behind
    const { page } = await browser.open(`${proxy.origin}/connect`, { ignoreHTTPSErrors: true })
    await page.getByRole('link', { name: /^Sign in with/ }).click()
    const approve = page.getByRole('button', { name: 'I am Ada' })
    await approve.waitFor()
    // Another hub behind the same address, which does not know the keys of the issuer yet.
    proxy.behind = new URL(await other.home.start('start').line()).origin
    issuer.metadata = { issuer: 'https://other.example.com' }

    await approve.click()
    await page.getByText('The authorization server is not available').waitFor()
    await picture(page, 'sign-in-unavailable')
    const barriers = await barriersOn(page)
    issuer.metadata = {}
    proxy.behind = served
    await page.getByRole('link', { name: 'Try again' }).click()
    await page.waitForURL(`${proxy.origin}/connect`)

    expect(barriers).toEqual([])
  })
})
