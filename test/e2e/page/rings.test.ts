import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, noBrowser } from '../../support/process/browser.ts'
import { skill, World } from '../world.ts'

const reason = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`the rings in a browser${reason}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await Browser.start()
  })
  afterAll(async () => browser[Symbol.asyncDispose]())

  test('are found from the sources, and show what waits, what stops it, and the change after a promotion', async () => {
    await using world = await World.create()
    const { home, git, repository } = world
    const rings = 'rings: [{ id: canary, anonymous: true }, { id: stable, min_age: 3d }]'
    const first = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, [rings])
    await world.synced()
    await home.command('promote', '--now')
    await home.command('hold', 'team', '--ring', 'stable', '--reason', 'release <b>week</b>')
    const daemon = home.start('start', '--port', '0')
    const { origin } = new URL(await daemon.line())
    const second = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
    expect(await home.command('sync')).toMatchObject({ status: 0 })

    const { page, said } = await browser.open(`${origin}/sources`)
    await page.getByRole('link', { name: 'Rings' }).click()
    const cells = page.getByRole('region', { name: 'Sources of the ring stable' }).locator('tbody td')

    expect(page.url()).toBe(`${origin}/rings`)
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['canary', 'stable'])
    const [commit, since, next, stopped] = await cells.allTextContents()
    expect([commit, stopped]).toEqual([first.slice(0, 12), 'held release <b>week</b>'])
    expect(since).toMatch(/ ago$/)
    expect(next).toMatch(new RegExp(`^${second.slice(0, 12)} in 2 days$`))

    await home.command('release', 'team', '--ring', 'stable')
    await home.command('promote', '--now')
    await expect
      .poll(async () => {
        await page.reload()
        return cells.first().textContent()
      })
      .toBe(second.slice(0, 12))
    expect(await page.getByText('has the newest content').count()).toBe(2)
    expect(said).toEqual([])
  })
})
