import { shellWord } from '../../../base/text/shell-word.ts'
import type { CatalogSkill } from '../../../sync/catalog/catalog-file.ts'
import { isReadByInstallers } from '../../../sync/catalog/folder-skills.ts'
import { installNameOf, installNamesIn } from '../../../sync/catalog/install-names.ts'
import { offeringIn, pathIdOf } from '../../../sync/catalog/tool-catalog.ts'
import { isInLists } from '../../../sync/model/skill.ts'
import { promptingSkills } from '../../mcp/core/prompt-list.ts'
import { html, EMPTY_HTML } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageView } from '../page-view.ts'
import { snippet } from '../snippet.ts'

/** One way to use a skill: a text to copy, and a remark about it. */
interface SkillUse {
  readonly where: string
  readonly text: string
  /** The label of the copy button for screen readers. */
  readonly what: string
  readonly remark?: Html
}

/** Renders the ways to use a skill. It shows only those that work for every reader of the page. */
export async function skillUse(entry: CatalogSkill, view: PageView): Promise<Html> {
  const name = await installedAs(entry, view)
  const uses = [linkUse(entry), name === undefined ? undefined : installerUse(name, view), await promptUse(entry, view)]
  const names = [await idUse(entry, view), { where: 'URI', text: entry.uri, what: 'the URI' }]
  return html`<section class="card use" aria-labelledby="use">
    <h2 id="use">Use this skill</h2>
    <div class="uses">${uses.filter((use) => use !== undefined).map(useHtml)}</div>
    <details id="names">
      <summary>Id and URI</summary>
      <div class="uses">${names.map(useHtml)}</div>
    </details>
    ${name === undefined ? EMPTY_HTML : html`<p><a href="${view.up}.well-known/agent-skills/${name}.zip" download>Download as zip</a></p>`}
  </section>`
}

function useHtml({ where, text, what, remark }: SkillUse): Html {
  return html`<div>
    ${snippet(where, text, what, true)}${remark === undefined ? EMPTY_HTML : html`<p class="quiet small">${remark}</p>`}
  </div>`
}

/** `undefined` if no folder of an agent has a place for it. */
function linkUse(entry: CatalogSkill): SkillUse | undefined {
  const { source, root, skill } = entry
  if (!isInLists(skill) || !isReadByInstallers(entry)) return undefined
  // A URI has no character that is not seen; a path may have some.
  const named = /^[\x21-\x7e]+$/.test(skill.path) ? `${source}/${skill.path}` : root
  const folders = skill.upstream === undefined ? EMPTY_HTML : html` with <code>folders: true</code>`
  return {
    where: 'Link into the folder of an agent',
    text: `skillsyncd link claude-code --skill ${shellWord(named)}`,
    what: 'the command that links the skill',
    remark: html`On a machine where skillsyncd has the source ${source}${folders}.
      <code>skillsyncd link --help</code> has the names of the other agents.`,
  }
}

function installerUse(name: string, { address }: PageView): SkillUse {
  return {
    where: 'Install a copy',
    text: `npx skills add ${shellWord(address)} --skill ${shellWord(name)}`,
    what: 'the command of the installer',
    remark: html`On any machine that reaches this hub.`,
  }
}

/** The name by which installers without a token get the skill. */
async function installedAs(entry: CatalogSkill, { installable }: PageView): Promise<string | undefined> {
  return installable && installNameOf(entry, await installNamesIn(installable))
}

async function promptUse(
  { skill }: CatalogSkill,
  { catalog, hasPrompts, up }: PageView,
): Promise<SkillUse | undefined> {
  if (!hasPrompts) return undefined
  const prompts = await promptingSkills(catalog)
  const prompt = [...prompts.values()].find(({ offered }) => offered.skill === skill)
  if (prompt === undefined) return undefined
  return {
    where: 'Prompt',
    text: prompt.listed.name,
    what: 'the name of the prompt',
    remark: html`In a client that is <a href="${up}connect">connected</a>.`,
  }
}

async function idUse({ source, skill }: CatalogSkill, { catalog }: PageView): Promise<SkillUse> {
  const { listed } = await offeringIn(catalog)
  const id = listed.find((offered) => offered.skill === skill)?.id ?? pathIdOf({ source, skill })
  return { where: 'Id', text: id, what: 'the id', remark: html`For tools, and for commands of skillsyncd.` }
}
