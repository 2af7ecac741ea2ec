import { runInSlices } from '../../base/async/cooperative.ts'
import { Memo } from '../../base/memo.ts'
import { servingFor } from '../../serve/mcp/core/methods.ts'
import type { Serving } from '../../serve/mcp/core/methods.ts'
import { viewOfRing } from '../../serve/view.ts'
import type { View, ViewName } from '../../serve/view.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { installNamesIn } from '../../sync/catalog/install-names.ts'
import type { InstallableSkill } from '../../sync/catalog/install-names.ts'
import { pluginsIn } from '../marketplace/plugins.ts'
import type { MarketplaceConfig, Plugin } from '../marketplace/plugins.ts'
import type { SkillActivation } from './logs-request.ts'

/**
 * Finds the served skill that an activation is of, by the names under which agents have skills on their disks: the names
 * for installers, and those in the plugins of the marketplace.
 */
export class ActivatedSkills {
  readonly #serving: Serving
  readonly #marketplace: MarketplaceConfig | undefined
  readonly #plugins = new Memo<Catalog, Promise<ReadonlyMap<string, Plugin>>>()

  /** `marketplace`: without it, no skill of a plugin is found. */
  constructor(serving: Serving, marketplace: MarketplaceConfig | undefined) {
    this.#serving = serving
    this.#marketplace = marketplace
  }

  /** `undefined` if the name is that of no skill in the view, or of several. */
  async find({ name, plugin, marketplace }: SkillActivation, view: View): Promise<InstallableSkill | undefined> {
    if (plugin === undefined) {
      const { listed, besides } = await installNamesIn(servingFor(this.#serving, view.name).registry.catalog)
      return listed.get(name) ?? besides.get(name)
    }
    const config = this.#marketplace
    if (config === undefined || (marketplace !== undefined && marketplace !== config.name)) return undefined
    const current = Object.hasOwn(config.renames, plugin) ? config.renames[plugin] : plugin
    // Each pack is a plugin of its name.
    if (current === undefined || view.packs?.has(current) === false) return undefined
    const plugins = await this.#pluginsIn(viewOfRing(view.ring), config)
    return plugins.get(current)?.skills.get(name)
  }

  async #pluginsIn(view: ViewName, config: MarketplaceConfig): Promise<ReadonlyMap<string, Plugin>> {
    const packs = this.#serving.packs?.views.packs ?? []
    return this.#plugins.of(servingFor(this.#serving, view).registry.catalog, async (catalog) => {
      const { plugins } = await runInSlices(pluginsIn(catalog, packs, config, undefined))
      return new Map(plugins.map((plugin) => [plugin.name, plugin]))
    })
  }
}
