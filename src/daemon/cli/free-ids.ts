import type { JsonObject } from '../../base/json-value.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { currentCatalog } from '../../sync/pull/generation-catalog.ts'
import { Store } from '../../sync/store/store.ts'
import { configuredIn, idsOf } from '../config/config.ts'
import { sourcesNamed } from '../config/named-sources.ts'
import { agreeWithDaemon } from '../control/running-daemon.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { admissionOf } from '../pull/trust/serving-policy.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { marketplaceRowOf } from '../status/marketplace-rows.ts'
import type { MarketplaceRow } from '../status/marketplace-rows.ts'

/** A marketplace in the repository of a source. `plugins`: these alone; empty for all. */
export interface MarketplaceSelection {
  readonly source: string
  readonly plugins: readonly string[]
}

/** Reads the marketplace of the served commit. */
export async function marketplaceOf(
  config: ServedConfig,
  { source, plugins }: MarketplaceSelection,
  signal: AbortSignal,
): Promise<MarketplaceRow> {
  const [id] = sourcesNamed([source], config)
  if (id === undefined) throw new TypeError('A source that was named has an id')
  expectRead(config, id)
  await agreeWithDaemon(config, signal)
  return onlyNamed(await readRow(config, id), plugins)
}

function expectRead(config: ServedConfig, id: SourceId): void {
  if (configuredIn(config, id).source.marketplace) return
  throw new OperatorError(
    'bad-request',
    `The marketplace of "${id}" is not read; \`marketplace: true\` of the source switches it on`,
  )
}

async function readRow(config: ServedConfig, id: SourceId): Promise<MarketplaceRow> {
  using store = await Store.openExisting(config.state)
  await store?.decisions.read()
  const catalog = store && (await currentCatalog(store, idsOf(config), admissionOf(config)))
  const snapshot = catalog?.snapshots.find(({ source }) => source === id)
  if (snapshot === undefined)
    throw new OperatorError('nothing-served', `Nothing of "${id}" is served yet; skillsyncd sync ${id} pulls it`)
  if (snapshot.marketplace === undefined)
    throw new OperatorError(
      'nothing-served',
      `The marketplace of "${id}" was not read in the served commit; skillsyncd sync ${id} tries it, and skillsyncd why ${id} has the findings`,
    )
  return marketplaceRowOf(snapshot)
}

function onlyNamed(row: MarketplaceRow, plugins: readonly string[]): MarketplaceRow {
  if (plugins.length === 0) return row
  const { groups, suggested, unsupported } = row
  const known = new Set([groups, suggested, unsupported].flat().map(({ name }) => name))
  const unknown = plugins.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new OperatorError(
      'unknown-plugin',
      `The marketplace of "${row.source}" has no plugin "${unknown}"; skillsyncd list --plugins ${row.source} shows them`,
    )
  const isNamed = ({ name }: { readonly name: string }): boolean => plugins.includes(name)
  return {
    ...row,
    groups: groups.filter(isNamed),
    suggested: suggested.filter(isNamed),
    unsupported: unsupported.filter(isNamed),
  }
}

/** The commit of the marketplace becomes the ref, so an added source stays at it. Without one, its ref is followed. */
export function sourceEntries({ source, suggested }: MarketplaceRow, taken: readonly string[]): readonly JsonObject[] {
  const ids = new FreeIds(source, taken)
  return suggested.map(({ name, url, ref, sha, path }) => {
    const pin = sha ?? ref
    return {
      id: ids.idFor(name),
      url,
      ...(pin !== undefined && { ref: pin }),
      ...(path !== undefined && { root: path }),
    }
  })
}

/** Ids with the source's id before the name of a plugin, each different from all others. */
export class FreeIds {
  readonly #source: string
  readonly #taken: Set<string>

  constructor(source: string, taken: readonly string[]) {
    this.#source = source
    this.#taken = new Set(taken)
  }

  idFor(name: string): string {
    const words = [this.#source, ...name.toLowerCase().split(/[^a-z0-9]+/)].filter((word) => word !== '')
    const base = words.join('-').slice(0, MOST_ID).replace(/-$/, '')
    let id = base
    for (let next = 2; this.#taken.has(id); next += 1) id = `${base}-${next}`
    this.#taken.add(id)
    return id
  }
}

/** An id has at most 64 characters, a number at its end included. */
const MOST_ID = 58
