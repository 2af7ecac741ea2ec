import { hash } from 'node:crypto'
import type { Finder } from '../../../serve/mcp/core/finder.ts'
import type { Serving } from '../../../serve/mcp/core/methods.ts'
import type { DocsOwner } from '../../../serve/mcp/resources/contract/contract-docs.ts'
import { ContractForm } from '../../../serve/mcp/resources/contract/contract-form.ts'
import type { ContractAsked } from '../../../serve/mcp/resources/contract/contract-form.ts'
import { ArchiveCache } from '../../../serve/mcp/resources/derived/archive-cache.ts'
import { IndexDocument } from '../../../serve/mcp/resources/derived/index-document.ts'
import { familiesOf } from '../../../serve/mcp/resources/families.ts'
import { skillSpaceOf } from '../../../serve/mcp/resources/files/skill-template.ts'
import type { Forms } from '../../../serve/mcp/resources/forms.ts'
import { catalogPrompt } from '../../../serve/mcp/tools/catalog-prompt.ts'
import { templateCompletion } from '../../../serve/mcp/tools/completion.ts'
import { PROMPTS } from '../../../serve/mcp/tools/prompts.ts'
import { skillPrompts } from '../../../serve/mcp/tools/skill-prompts.ts'
import type { ToolHost } from '../../../serve/mcp/tools/tool-document.ts'
import { skillTools } from '../../../serve/mcp/tools/tools.ts'
import type { UnservedSources } from '../../../serve/mcp/tools/unserved-sources.ts'
import type { Registry } from '../../../serve/registry.ts'
import { partsOfView, viewOfRing, WHOLE } from '../../../serve/view.ts'
import type { ViewName } from '../../../serve/view.ts'
import type { Views } from '../../../serve/views.ts'
import { canHold } from '../../../sync/catalog/pack.ts'
import { foldersIn } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { lackingUnnamed } from '../unserved-sources.ts'

/** The parts of a daemon that answer clients. */
export interface ServingParts {
  readonly config: Config
  /** The reader of the catalog's files, and the check for skills of which no file is served. */
  readonly reading: Pick<Serving, 'read' | 'isRefused'>
  readonly host: ToolHost
  readonly finder?: Finder | undefined
  readonly views: Views
}

/** The serving from which the clients of one server are answered, for everything and for each view. It has memories of its own. */
export function servingOf(parts: ServingParts): Serving {
  const { views } = parts
  const whole = registryServing(parts, views.registryOf(WHOLE))
  const ofView = (view: ViewName): Serving =>
    partsOfView(view).packs === WHOLE
      ? { ...registryServing(parts, views.registryOf(view)), view }
      : packServing(parts, view)
  return { ...whole, views, ofView }
}

/**
 * The operator's instructions about the whole, and sources from which the packs can hold nothing, would reveal things
 * that the pack's clients must not see. They are left out.
 */
function packServing(parts: ServingParts, view: ViewName): Serving {
  const { config, host, views } = parts
  const packs = views.packsOf(view)
  const said = packs.flatMap(({ description }) => description ?? [])
  const sources = config.sources.filter(({ source }) => packs.some((pack) => canHold(pack, source.id)))
  const { instructions: _instructions, ...serve } = config.serve
  const instructions = said.length === 0 ? undefined : said.join('\n\n')
  const whole = views.registryOf(viewOfRing(partsOfView(view).ring))
  const narrowed = { ...config, sources, serve: { ...serve, instructions, templates: [] } }
  // The view lacks all data about a source from which its packs choose nothing, so this reads the whole.
  const lacking = async (): Promise<UnservedSources> => lackingUnnamed(whole.catalog, sources)
  const viewed = { ...parts, config: narrowed, host: { ...host, lacking } }
  return { ...registryServing(viewed, views.registryOf(view)), view }
}

function registryServing({ config, reading, host, finder }: ServingParts, registry: Registry): Serving {
  const { instructions, ttlMs, forms: named } = config.serve
  const { listing: pages } = config.limits
  const { read } = reading
  const forms = formsOf(config)
  const found = named.has('search') ? finder : undefined
  return {
    registry,
    ...reading,
    pages,
    cache: { ttlMs, cacheScope: cacheScopeOf(config) },
    forms,
    surfaces: [
      templateCompletion(registry, forms),
      ...(named.has('tools')
        ? [skillTools({ registry, read, pages }, { ...host, folders: foldersIn(config) }, found)]
        : []),
      ...(named.has('prompts') ? [PROMPTS, catalogPrompt(registry)] : []),
      ...(forms.skillPrompts ? [skillPrompts({ registry, read, pages }, host)] : []),
    ],
    ...(found !== undefined && { finder: found }),
    ...(instructions !== undefined && { instructions }),
  }
}

function formsOf(config: Config): Forms {
  const { sources, serve } = config
  const { forms, templates } = serve
  const contract = forms.has('contract') ? contractAskedOf(config) : undefined
  const isOffered = forms.has('contract') && sources.some(({ source }) => source.contract === 'offer')
  const archives = new ArchiveCache(serve.archives)
  const made = [FORMS_OF_RESOURCES.filter((form) => forms.has(form)), templates, contract]
  return {
    digest: hash('sha256', JSON.stringify(made), 'base64url').slice(0, 16),
    families: familiesOf({
      list: forms.has('files') ? 'files' : 'skills',
      synthetic: forms.has('synthetic') ? 'list' : 'hide',
      index: forms.has('index')
        ? new IndexDocument(archives, forms.has('index-templates') ? templates : [])
        : undefined,
      archives,
      // The configuration was validated: each template is a skill space.
      spaces: templates.map(skillSpaceOf).filter((space) => 'segments' in space),
      // An offer is not in the digest: the family exists from the first valid block on, and that is a change of the lists.
      contract: contract || isOffered ? new ContractForm(contract ?? { ofSkills: false, docs: undefined }) : undefined,
    }),
    skillPrompts: forms.has('skill-prompts'),
  }
}

/** The forms of whose change each session is told, besides the contract. */
const FORMS_OF_RESOURCES = ['index', 'index-templates', 'files', 'synthetic', 'archives', 'skill-prompts'] as const

/** `undefined` if no source requires the contract, and none has docs. */
function contractAskedOf({ sources }: Config): ContractAsked | undefined {
  const ofSkills = sources.some(({ source }) => source.contract === true)
  const [docs] = sources.flatMap(({ source: { id, docs: folder, root } }): DocsOwner[] =>
    folder === undefined ? [] : [{ source: id, folder, root }],
  )
  return ofSkills || docs !== undefined ? { ofSkills, docs } : undefined
}

/**
 * All clients with access get the same answers. But content from another server, fetched with our credential, may be
 * for us alone. That server may say so only when a file is read, so no cache between us and a client may share it.
 */
function cacheScopeOf({ sources }: Config): Serving['cache']['cacheScope'] {
  return sources.some(({ source }) => source.kind === 'mcp') ? 'private' : 'public'
}
