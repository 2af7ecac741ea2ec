// Lists the packages whose code a bundle has: their names, versions, folders and the files with their code, for the bill of
// materials and the check for advisories, and the texts of their licenses, which go wherever their code goes.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'rolldown'

/** The plugin that writes `packages.json` and `licenses.txt` beside the bundle. */
export function listPackages(): Plugin {
  return {
    name: 'list-packages',
    generateBundle(_, bundle) {
      const filesOf = new Map<string, Set<string>>()
      for (const output of Object.values(bundle))
        for (const [id, { renderedLength }] of output.type === 'chunk' ? Object.entries(output.modules) : []) {
          const folder = renderedLength > 0 ? folderOf(id) : undefined
          if (folder !== undefined) filesOf.set(folder, (filesOf.get(folder) ?? new Set()).add(output.fileName))
        }
      const paths = [...filesOf.keys()].toSorted()
      const listed = paths.map((path) => {
        const { name, version } = manifestIn(path)
        return { name, version, path, files: [...(filesOf.get(path) ?? [])].toSorted() }
      })
      this.emitFile({ type: 'asset', fileName: 'packages.json', source: `${JSON.stringify(listed, null, 2)}\n` })
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: paths.map(licenseText).join('\n') })
    },
  }
}

interface Manifest {
  readonly name: string
  readonly version?: string
  readonly license?: string
  readonly author?: string | { readonly name: string }
}

/** The folder of the package that a module is in; `undefined` for a module of our own. */
function folderOf(id: string): string | undefined {
  const [, path] = /^.*?(node_modules\/.*)$/.exec(id) ?? []
  if (path === undefined) return undefined
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
    // A package can have other manifests inside, which say the format of a folder and nothing else.
    if (existsSync(join(folder, 'package.json')) && manifestIn(folder).version !== undefined) return folder
  throw new Error(`No package.json above ${path}`)
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

function licenseText(path: string): string {
  const { name, version, license, author } = manifestIn(path)
  const files = readdirSync(path).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
  const texts = files.toSorted().map((file) => readFileSync(join(path, file), 'utf8').trim())
  if (texts.length === 0) texts.push(withoutFile(path, author))
  return ['='.repeat(80), `${name} ${version}, ${license}`, '', ...texts, ''].join('\n')
}

/** Some packages say their license in their README, or name it and no more. */
function withoutFile(path: string, author: Manifest['author']): string {
  const readme = join(path, 'README.md')
  const [said] = (existsSync(readme) && /^#+ *licen[cs]e[^]*$/im.exec(readFileSync(readme, 'utf8'))) || []
  const by = typeof author === 'object' ? author.name : author
  return `Copyright ${by}\n\n${said ?? 'The package names this license, and has no text of it.'}`
}
