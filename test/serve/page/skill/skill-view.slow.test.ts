import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../../src/base/json-value.ts'
import { servingOf } from '../../../../src/daemon/status/page/mcp-serving.ts'
import { FileRenderer } from '../../../../src/serve/page/file-renderer.ts'
import type { PageUses } from '../../../../src/serve/page/page-data.ts'
import type { PageView } from '../../../../src/serve/page/page-view.ts'
import { skillView } from '../../../../src/serve/page/skill/skill-view.ts'
import { Repository } from '../../../support/git/repository.ts'
import { momentsFound, serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'

describe('the page of a skill of a repository at a git host', () => {
  let repository: Repository
  let served: Served
  beforeAll(async () => {
    repository = await Repository.create()
    await repository.commit({ 'all/pdf/SKILL.md': '---\nname: pdf\ndescription: About pdf\n---\nbody\n' })
    served = await serve(repository, { source: ['root: all'] })
    await momentsFound(served)
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })

  /** The page, as if the source had this address. */
  const skills = new Map([['fx/pdf', { loads: 3, reads: 1, failures: 0, last: '2026-06-15' }]])
  const uses = async (): Promise<PageUses> => ({ days: 30, from: '2026-05-17', since: null, skills, lists: [] })

  async function drawn(url: string, isWhole: boolean, metadata: JsonObject = {}, isAdmitted = false): Promise<string> {
    const { registry, page } = served.daemon.parts
    const serving = servingOf(served.daemon.parts.serving)
    const { catalog } = registry
    const view: PageView = {
      catalog: { ...catalog, snapshots: catalog.snapshots.map((snapshot) => ({ ...snapshot, url })) },
      isWhole,
      isAdmitted,
      packs: [],
      host: { ...page.host, isTokenRequired: false, uses },
      up: '../../../',
      address: served.http.url,
      hasInstaller: false,
      installable: undefined,
      hasPrompts: false,
      params: new URLSearchParams(),
    }
    await using readables = new FileRenderer(serving.read)
    const [entry] = catalog.listed
    const frontmatter = { ...entry!.frontmatter, metadata }
    const declaring = { ...entry!, frontmatter, skill: { ...entry!.skill, frontmatter } }
    return (await skillView(declaring, view, readables)).content.html
  }

  test('links to its commit and its folder there, without the credential of the address', async () => {
    const text = await drawn('https://user:secret@github.com/owner/repo.git', true)
    const commit = served.daemon.registry.catalog.snapshots[0]?.revision.commit

    expect(linksIn(text)).toEqual([
      [`https://github.com/owner/repo/tree/${commit}/all/pdf`, 'noopener noreferrer nofollow'],
      [`https://github.com/owner/repo/commit/${commit}`, 'noopener noreferrer nofollow'],
    ])
    expect(text).not.toContain('secret')
  })

  test('has a note of the deprecation, the owner and the dependencies that its author declares', async () => {
    const url = 'https://git.example.com/owner/repo'
    const declared = { deprecated: '<b>gone</b>', 'replaced-by': 'pdf-2', owner: 'docs team', depends_on: 'a b' }

    const text = await drawn(url, true, declared)

    expect(text).toMatch(/<p class="note">.*Deprecated; use pdf-2 instead: &#60;b&#62;gone/)
    expect(text).toMatch(
      /<dt>Owner<\/dt>\s*<dd>.*docs team.*\s*<dt>Depends on<\/dt>\s*<dd>.*a, b.*\s*<dt>Replaced by<\/dt>\s*<dd>.*pdf-2/,
    )
    expect(await drawn(url, true, { 'replaced-by': 'pdf-3' })).toMatch(/<dt>Replaced by<\/dt>\s*<dd>.*pdf-3/)
    expect(await drawn(url, true)).not.toMatch(/class="note"|Depends on/)
  })

  test('has the use of the last days only for readers that may see it', async () => {
    const url = 'https://git.example.com/owner/repo'

    expect(await drawn(url, true, {}, true)).toContain('Last 30 days: 3 loads, 1 read')
    expect(await drawn(url, true)).not.toContain('Last 30 days')
  })

  test('has no such link where the address is no page of a known host', async () => {
    for (const url of ['javascript://github.com/owner/repo', 'https://git.example.com/owner/repo'])
      expect(linksIn(await drawn(url, true)), url).toEqual([])
  })

  test('tells a reader of some packs nothing of the address, as of its source', async () => {
    const text = await drawn('https://github.com/owner/repo', false)

    expect(text).not.toMatch(/github|generation \d/)
    expect(text).toMatch(/History on this hub<.*<li>\s*added <time/s)
  })
})

/** The links to other sites, with their `rel`. */
function linksIn(text: string): (readonly string[])[] {
  return Array.from(text.matchAll(/<a href="(\w+:[^"]*)"(?:\s+rel="([^"]*)")?/g), ([, href = '', rel = '']) => [
    href,
    rel,
  ])
}
