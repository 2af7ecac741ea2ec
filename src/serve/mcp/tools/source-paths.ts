import type { CatalogSkill } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { firstFrom } from '../../../sync/model/digest.ts'
import { MadeInSteps } from '../../../base/incremental.ts'
import { filesOf, isInUriOrder } from '../../../sync/catalog/skill-files.ts'
import type { Steps } from '../../../base/cooperative.ts'
import { MadeOnce } from '../../../base/memo.ts'
import { sortingTexts } from '../../../base/sorted-texts.ts'
import type { Sorted } from '../../../base/sorted-texts.ts'

/**
 * The paths of the files of listed skills, by source: made ready in slices for the first that asks, and once for each catalog. A
 * failure is of those that wait for it alone.
 */
export class SourcePaths {
  readonly #asked = new MadeOnce<Catalog, Map<string, Asked>>()
  readonly #paths = new MadeInSteps(({ root, catalog }: Asked) => pathsBelow(root, catalog))

  /** Those below the URI of a source, as they stand in URIs, in parts that share none. */
  async below(root: string, catalog: Catalog): Promise<readonly Sorted[]> {
    const ofCatalog = this.#asked.of(catalog, () => new Map())
    const asked = ofCatalog.get(root) ?? { root, catalog }
    ofCatalog.set(root, asked)
    return this.#paths.ready(asked)
  }
}

/** A source of a catalog, by its URI. */
interface Asked {
  readonly root: string
  readonly catalog: Catalog
}

/**
 * Most skills follow each other as their URIs do, and so do the files of each: those are found where they are. Only the paths of
 * others are written out: of skills that have files in common, and of names that stand in URIs in another way.
 */
function* pathsBelow(root: string, { listed }: Catalog): Steps<readonly Sorted[]> {
  const below = `${root}/`
  const inPlace = new PathsInPlace(below)
  const others = new Set<string>()
  for (let at = firstFrom(listed, below, ({ uri }) => uri); listed[at]?.uri.startsWith(below) === true; at += 1) {
    const skill = listed[at]
    if (skill === undefined || !skill.root.startsWith(below)) continue
    if (isInUriOrder(skill)) inPlace.add(skill)
    else for (const { uri } of filesOf(skill)) others.add(uri.slice(below.length))
    yield
  }
  return [inPlace, yield* sortingTexts(others)]
}

/** The paths of the files of skills that stand alone. */
class PathsInPlace implements Sorted {
  readonly #below: string
  readonly #skills: CatalogSkill[] = []
  /** How many files there are with those of each skill. */
  readonly #counts: number[] = []

  constructor(below: string) {
    this.#below = below
  }

  add(skill: CatalogSkill): void {
    this.#counts.push(this.length + skill.skill.files.length)
    this.#skills.push(skill)
  }

  get length(): number {
    return this.#counts.at(-1) ?? 0
  }

  at(index: number): string | undefined {
    let [low, high] = [0, this.#counts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#counts[middle] ?? 0) > index) high = middle
      else low = middle + 1
    }
    const skill = this.#skills[low]
    const file = skill?.skill.files[index - (this.#counts[low - 1] ?? 0)]
    return skill && file && `${skill.root.slice(this.#below.length)}/${file.path}`
  }
}
