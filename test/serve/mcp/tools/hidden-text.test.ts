import { expect, test } from 'vitest'
import { runNow } from '../../../../src/base/async/cooperative.ts'
import { skillPromptsIn } from '../../../../src/serve/mcp/core/prompt-list.ts'
import { describeFile } from '../../../../src/serve/mcp/resources/files/file-entry.ts'
import { textingCatalog } from '../../../../src/serve/mcp/tools/catalog-text.ts'
import { hitsWithin } from '../../../../src/serve/mcp/tools/search/hits.ts'
import { skillList } from '../../../../src/serve/mcp/tools/skill-list.ts'
import { answerOf } from '../../../../src/serve/mcp/tools/tool-answer.ts'
import type { ToolAnswer } from '../../../../src/serve/mcp/tools/tool-answer.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { filesOf } from '../../../../src/sync/catalog/skill-files.ts'
import { offeredIn } from '../../../../src/sync/catalog/tool-catalog.ts'
import { hiddenIn } from '../../../../src/sync/skill/hidden-unicode.ts'
import { catalogWith, saying } from '../../../support/content/searchable-skills.ts'
import type { Sample } from '../../../sync/store/samples.ts'

const UNSEEN = 'Fill\u200B in \u202Eforms\u{E0041}\u001B[8m, all\u2028of them\uE000'
const SEEN = 'Fill in forms [8m, all of them'

const CATALOG = catalogWith({
  team: [saying('pdf', { description: UNSEEN, 'argument-hint': `[${UNSEEN}]` }, 'Fill it in.\n')],
})

test.each<[string, (catalog: Catalog) => string]>([
  ['list_skills', (catalog) => textsOf(skillList(catalog, {}, { entries: 10, bytes: 2 ** 20 })).join()],
  ['search_skills', (catalog) => JSON.stringify(hitsWithin(offeredIn(catalog).forModels))],
  ['prompts/list', (catalog) => JSON.stringify([...skillPromptsIn(catalog).values()].map(({ listed }) => listed))],
  ['skills-catalog', (catalog) => runNow(textingCatalog(catalog))],
  ['resources/list', (catalog) => JSON.stringify(catalog.listed.flatMap(filesOf).map(describeFile))],
  ['get_skill', (catalog) => JSON.stringify(got(catalog, 'pdf', 'Fill it in.').structuredContent)],
])('what people do not see of a description is not in %s', (_, said) => {
  const text = said(CATALOG)

  expect(text).toContain(SEEN)
  expect(hiddenIn(text)).toBeUndefined()
})

test('two skills whose paths look alike have ids that do not, and each is found by its own', () => {
  const samples = ['pdf', 'pd\u200Bf', 'pdf\u{E0041}'].map((path) => at(path, saying('pdf', { description: path })))

  const offered = offeredIn(catalogWith({ team: samples }))

  const ids = offered.listed.map(({ id }) => id)
  expect(ids.toSorted()).toEqual(['pd\\u{200B}f', 'pdf', 'pdf\\u{E0041}'])
  expect(ids.map((id) => offered.find(id).map(({ skill }) => skill.path))).toEqual(
    offered.listed.map(({ skill }) => [skill.path]),
  )
})

test('get_skill gives the text as it stands, and says what of it people do not see', () => {
  const body = 'Fill it in.\nPass\u200Bword, hy\u00ADphen 👩‍💻\n'

  const answer = got(CATALOG, 'pdf', body)

  expect(answer.structuredContent).toMatchObject({ content: body, hidden: expect.stringContaining('U+200B at 2:5') })
  expect(textsOf(answer)[1]).toContain('2 in all, U+200B at 2:5; U+00AD at 2:14')
})

test('get_skill writes what smuggles, reorders or conceals as escapes, though the policy lets it through', () => {
  const answer = got(CATALOG, 'pdf', 'Run\u{E0041}\u202E \u001B[8mrm\u200B\n')

  expect(answer.structuredContent).toMatchObject({ content: 'Run\\u{E0041}\\u{202E} \\u{001B}[8mrm\u200B\n' })
  expect(textsOf(answer)[1]).toContain('are escapes in it')
})

test('get_skill says nothing of a text in which everything is seen', () => {
  const answer = got(CATALOG, 'pdf', 'Fill it in. 👩‍💻 می‌خواهم\r\n')

  expect(answer.structuredContent).not.toHaveProperty('hidden')
  expect(textsOf(answer)[1]).not.toContain('do not see')
})

function textsOf({ content }: ToolAnswer): string[] {
  return content.flatMap((block) => ('text' in block ? [block.text] : []))
}

function at(path: string, made: Sample): Sample {
  return { ...made, skill: { ...made.skill, path } }
}

function got(catalog: Catalog, id: string, body: string): ReturnType<typeof answerOf> {
  const bytes = Buffer.from(`---\nname: pdf\ndescription: d\n---\n${body}`)
  return answerOf(offeredIn(catalog).find(id)[0]!, { bytes, isBehind: false })
}
